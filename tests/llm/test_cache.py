"""What is particular to single caches: files, damage, trust, several processes, servers that are
away, AutoGen's names.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from agentkit.errors import ConfigError, WrongArgument
from agentkit.llm.cache import Cache, CacheFactory, DiskCache, InMemoryCache, RedisCache
from tests.servers.redis_server import RedisServer


@pytest.fixture
def warned(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """What was logged."""
    caplog.set_level(logging.WARNING)
    return caplog


def test_the_names_of_autogen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for cache in (Cache({}), Cache.disk(), Cache.disk(cache_seed=42, cache_path_root=".cache")):
        assert isinstance(cache.cache, DiskCache)
        assert cache.cache.path == Path(".cache/42/replies.sqlite")
    assert isinstance(CacheFactory.cache_factory("s", None, str(tmp_path)), DiskCache)
    assert isinstance(CacheFactory.cache_factory("s", redis_url="redis://localhost:1"), RedisCache)
    assert isinstance(Cache.memory().cache, InMemoryCache)
    assert not list(tmp_path.iterdir()), "nothing is made before something is stored"


def test_what_a_configuration_may_not_hold() -> None:
    with pytest.raises(WrongArgument, match="'bad' is not known; use one of cache_seed"):
        Cache({"bad": 1})
    with pytest.raises(ConfigError, match="Cosmos DB is not supported"):
        Cache.cosmos_db("connection", "container")
    with pytest.raises(ConfigError, match="Cosmos DB is not supported"):
        CacheFactory.cache_factory(1, cosmosdb_config={"connection_string": "x"})


def test_two_caches_of_a_seed_share_their_replies(tmp_path: Path) -> None:
    with Cache.disk(1, str(tmp_path)) as one, Cache.disk("1", str(tmp_path)) as other:
        one.set("k", "v")
        assert other.get("k") == "v"


def test_other_users_cannot_read_the_file_and_keys_are_not_in_it(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    cache.set("a secret question", "v")
    assert cache.path.stat().st_mode & 0o077 == 0
    assert b"secret question" not in cache.path.read_bytes()


def test_objects_that_json_cannot_hold_are_pickled(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    cache.set("k", Fraction(1, 3))
    assert cache.get("k") == Fraction(1, 3)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no file owners here")
def test_a_pickle_that_others_could_have_written_is_not_loaded(
    tmp_path: Path, warned: pytest.LogCaptureFixture
) -> None:
    cache = DiskCache(tmp_path)
    cache.set("k", Fraction(1, 3))
    cache.set("plain", "text")
    cache.path.chmod(0o666)
    assert cache.get("k", "miss") == "miss"
    assert "pickled object that another user may have written" in warned.text
    assert cache.get("plain") == "text"


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no file owners here")
def test_a_pickle_in_a_folder_of_others_is_not_loaded(tmp_path: Path) -> None:
    """A journal that lies beside the file is written into it when it is opened."""
    before = os.umask(0o002)
    try:
        cache = DiskCache(tmp_path / "mine")
        cache.set("k", Fraction(1, 3))
    finally:
        os.umask(before)
    assert cache.get("k") == Fraction(1, 3)
    cache.path.parent.chmod(0o775)
    assert cache.get("k", "miss") == "miss"


@pytest.mark.parametrize(
    "entry",
    [b"", b"J{", b"Pnonsense", b"X", b'J{"$kind": "os:system", "value": {}}', b'J{"$kind": 1}'],
)
def test_a_damaged_entry_is_a_miss_that_set_repairs(
    tmp_path: Path, entry: bytes, warned: pytest.LogCaptureFixture
) -> None:
    cache = DiskCache(tmp_path)
    cache.set("k", "v")
    with sqlite3.connect(cache.path) as database:
        database.execute("UPDATE replies SET value = ?", (entry,))
    database.close()
    assert cache.get("k", "miss") == "miss"
    assert "is skipped" in warned.text
    cache.set("k", "again")
    assert cache.get("k") == "again"


@pytest.mark.parametrize(
    "damage",
    [b"no database at all, but long enough to be read as a header of one ....", b"\0" * 9000],
)
def test_a_damaged_file_is_put_aside_and_a_new_one_begins(
    tmp_path: Path, damage: bytes, warned: pytest.LogCaptureFixture
) -> None:
    cache = DiskCache(tmp_path)
    cache.path.write_bytes(damage)
    assert cache.get("k", "miss") == "miss"
    cache.set("k", "v")
    assert cache.get("k") == "v"
    assert (tmp_path / "replies.sqlite.damaged").read_bytes() == damage
    assert "begins" in warned.text


def test_a_file_with_broken_pages_never_crashes(
    tmp_path: Path, warned: pytest.LogCaptureFixture
) -> None:
    cache = DiskCache(tmp_path)
    for number in range(200):
        cache.set(f"k{number}", "v" * 500)
    data = bytearray(cache.path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    cache.path.write_bytes(data)
    assert cache.get("k1", "miss") == "miss"
    cache.set("k1", "new")
    assert cache.get("k1") == "new"
    assert "is damaged" in warned.text


def test_a_folder_that_cannot_be_made_is_a_warning(
    tmp_path: Path, warned: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = Cache.disk(1, str(tmp_path / "file"))
    cache.set("k", "v")
    assert cache.get("k", "miss") == "miss"
    assert "not kept in the cache" in warned.text


_WORK = """
import sys
from agentkit.llm.cache import DiskCache
cache = DiskCache(sys.argv[1])
for number in range(40):
    cache.set(f"{sys.argv[2]} {number}", [number])
    cache.set("shared", {"number": number})
    assert set(cache.get("shared")) == {"number"}
"""


def test_several_processes_lose_nothing(tmp_path: Path) -> None:
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", _WORK, str(tmp_path), str(number)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    for worker in workers:
        _, said = worker.communicate(timeout=60)
        assert (worker.returncode, said) == (0, "")
    cache = DiskCache(tmp_path)
    assert [cache.get(f"{w} {n}") for w in range(3) for n in range(40)] == [
        [n] for _ in range(3) for n in range(40)
    ]


def test_values_in_redis_are_named_by_seed_and_hash() -> None:
    with RedisServer() as server, Cache.redis(7, server.url) as cache:
        cache.set("a secret question", "v")
        (name,) = server.values
    assert name.startswith(b"agentkit:7:")
    assert b"secret" not in name


def test_redis_neither_stores_nor_loads_pickles(warned: pytest.LogCaptureFixture) -> None:
    with RedisServer() as server, Cache.redis(7, server.url) as cache:
        cache.set("k", Fraction(1, 3))
        assert not server.values
        cache.set("k", "v")
        server.values[next(iter(server.values))] = b"Pcos\nsystem\n(S'true'\ntR."
        assert cache.get("k", "miss") == "miss"
    assert "a fractions.Fraction cannot be kept as JSON" in warned.text
    assert "it is not loaded" in warned.text


def test_a_redis_server_that_is_away_is_a_warning(warned: pytest.LogCaptureFixture) -> None:
    with RedisServer() as server:
        cache: Any = Cache.redis(1, server.url)
    cache.set("k", "v")
    assert cache.get("k", "miss") == "miss"
    assert len(warned.records) == 2
    cache.close()


def test_a_malformed_redis_url_and_a_missing_library_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ConfigError, match="'nonsense' is not an address of a Redis server"):
        Cache.redis(1, "nonsense")
    with pytest.raises(ConfigError, match="'redis//host'"):
        Cache.redis(1, "redis//:secret@host")
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(ConfigError, match="pip install redis"):
        Cache.redis(1)
