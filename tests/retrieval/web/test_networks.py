"""Which addresses are on the open internet, one by one."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.retrieval.web.networks import is_public

PUBLIC = """1.1.1.1 8.8.8.8 93.184.215.14 100.63.255.255 100.128.0.0 172.15.255.255 172.32.0.0
    192.0.1.0 192.0.3.0 192.88.98.255 192.88.100.0 198.17.255.255 198.20.0.0 223.255.255.255
    2606:2800:21f:cb07:6820:80da:af6b:8b2c 2001:4860:4860::8888 2001:200:: 2a00:: 2620:fe::fe
    3ffe:ffff:: 3fff:1000:: 64:ff9b::5db8:d70e 2002:5db8:d70e:: ::ffff:93.184.215.14"""
SPECIAL = """0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.9.9.9
    169.254.169.254 172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.8 192.0.0.9 192.0.0.170 192.0.0.255
    192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.0 192.88.99.1 192.88.99.255 192.168.0.1
    192.175.48.1 198.18.0.0 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255
    240.0.0.1 255.255.255.255
    :: ::1 ::2 ::127.0.0.1 ::93.184.215.14 ::ffff:0:0 ::ffff:10.0.0.1 ::ffff:127.0.0.1
    ::ffff:192.0.0.1 ::ffff:0:10.0.0.1 64:ff9b::a00:1 64:ff9b::7f00:1 64:ff9b:1::1 100::1
    100:0:0:1::1 2001::1 2001:0:5db8:d70e::1 2001:1::1 2001:2::1 2001:3::1 2001:4:112::1 2001:10::1
    2001:20::1 2001:30::1 2001:1ff:ffff:: 2001:db8::1 2002:a00:1:: 2002:7f00:1:: 2002:c000:1::
    2620:4f:8000::1 3fff:: 3fff::1 3fff:fff:ffff:: 4000:: 5f00::1 fc00::1 fd12::1 fe80::1
    fe80::1%eth0 fe80::1%25 fec0::1 ff02::1 ff0e::1"""


@pytest.mark.parametrize("address", PUBLIC.split())
def test_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", SPECIAL.split())
def test_special(address: str) -> None:
    assert not is_public(address)


@given(st.ip_addresses())
def test_nothing_is_public_that_python_knows_better(address: ipaddress.IPv4Address) -> None:
    """Python's own lists are older or newer than ours; where it says no, we never say yes."""
    inside = getattr(address, "sixtofour", None)
    if is_public(str(address)) and not inside:
        assert address.is_global or address in ipaddress.ip_network("64:ff9b::/96")
        assert not address.is_multicast


@given(st.ip_addresses(v=4))
def test_an_address_in_the_clothes_of_another_is_what_it_leads_to(
    address: ipaddress.IPv4Address,
) -> None:
    number = int(address)
    clothes = [(0xFFFF << 32) + number, (0x64FF9B << 96) + number, (0x2002 << 112) + (number << 80)]
    told = {is_public(str(ipaddress.IPv6Address(one))) for one in clothes}
    assert told == {is_public(str(address))}
