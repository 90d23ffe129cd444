"""Which addresses are on the open internet, by lists of our own.

`ipaddress.is_global` changes with the version of Python: 3.11.7 takes 192.0.0.0/24,
192.88.99.0/24 and 3fff::/20 for public.

Sources: IANA's special-purpose address registries for IPv4 and IPv6 (RFC 6890)
https://www.iana.org/assignments/iana-ipv4-special-registry
https://www.iana.org/assignments/iana-ipv6-special-registry
and, for what is multicast, reserved or not given out at all, IANA's registries of the address
spaces: https://www.iana.org/assignments/ipv4-address-space and .../ipv6-address-space.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

# Some entries of the registries can be reached from everywhere (AS112, AMT, relays), but no page
# is served there: all of them are left out.
_SPECIAL_IPV4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this host on this network
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # shared behind a provider's NAT
            "127.0.0.0/8",  # loopback
            "169.254.0.0/16",  # link-local, with the metadata of cloud machines
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # IETF protocol assignments
            "192.0.2.0/24",  # documentation
            "192.31.196.0/24",  # AS112
            "192.52.193.0/24",  # AMT
            "192.88.99.0/24",  # relays of 6to4, given up
            "192.168.0.0/16",  # private
            "192.175.48.0/24",  # AS112
            "198.18.0.0/15",  # measurements
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and broadcast
        ),
    )
)
_GIVEN_OUT_IPV6 = IPv6Network("2000::/3")
"""What IANA gives out as global unicast: loopback, private, link-local, multicast are outside."""
_SPECIAL_IPV6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # IETF protocol assignments: Teredo, measurements, AMT, ORCHID and others
            "2001:db8::/32",  # documentation
            "2620:4f:8000::/48",  # AS112
            "3fff::/20",  # documentation
        ),
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")


def is_public(address: str) -> bool:
    """Whether this numeric address, with or without a scope id, is on the open internet.

    An IPv6 address that stands for an IPv4 one (mapped, 6to4, NAT64) is what that one is.
    """
    found = ip_address(address.partition("%")[0])
    if isinstance(found, IPv4Address):
        return not _is_in(found, _SPECIAL_IPV4)
    inside = _find_ipv4(found)
    if inside is not None:
        return is_public(str(inside))
    return found in _GIVEN_OUT_IPV6 and not _is_in(found, _SPECIAL_IPV6)


def _is_in(
    address: IPv4Address | IPv6Address, networks: Iterable[IPv4Network | IPv6Network]
) -> bool:
    return any(address in network for network in networks)


def _find_ipv4(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that the IPv6 address leads to."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour
