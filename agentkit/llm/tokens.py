"""Counting tokens: exact for models whose tokenizer is known, else an estimate that says so; never asks the network."""

from __future__ import annotations

import base64
import hashlib
import json
import lzma
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentkit.errors import ConfigError
from agentkit.messages import text_of

if TYPE_CHECKING:
    import tiktoken

_RANKS = Path(__file__).parent / "ranks"
_PER_MESSAGE = 4  # role and separators around each message of OpenAI's chat format
_REPLY = 3  # the opening of the reply


def count_text(text: str, model: str) -> tuple[int, bool]:
    """Tokens of `text` for `model`, and whether that is an estimate."""
    name = _encoding_name(model)
    return len(encoding(name or "cl100k_base").encode_ordinary(text)), name is None


def count_messages(messages: Iterable[Mapping[str, Any]], model: str) -> tuple[int, bool]:
    """Tokens of a prompt for `model`, and whether that is an estimate; pictures and other parts count as their name."""
    total, estimated = _REPLY, _encoding_name(model) is None
    for message in messages:
        text = text_of(message.get("content")) + str(message.get("name") or "")
        if message.get("tool_calls"):
            text += json.dumps(message["tool_calls"], ensure_ascii=False, default=str)
        total += _PER_MESSAGE + count_text(text, model)[0]
    return total, estimated


@cache
def encoding(name: str) -> tiktoken.Encoding:
    """The tokenizer `cl100k_base` or `o200k_base` from the files of this package; ConfigError when one is damaged."""
    import tiktoken

    described = json.loads((_RANKS / "patterns.json").read_text(encoding="utf-8"))[name]
    path = _RANKS / f"{name}.tiktoken.xz"
    try:
        data = lzma.decompress(path.read_bytes())
    except (OSError, lzma.LZMAError) as error:
        raise ConfigError(f"{path} cannot be read ({error}); install agentkit again.") from error
    if hashlib.sha256(data).hexdigest() != described["sha256"]:
        raise ConfigError(f"{path} is not the file it should be; install agentkit again.")
    ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in data.splitlines())}
    return tiktoken.Encoding(name, pat_str=described["pattern"], mergeable_ranks=ranks, special_tokens={})


@cache
def _encoding_name(model: str) -> str | None:
    from tiktoken.model import encoding_name_for_model

    try:
        name = encoding_name_for_model(model.rsplit("/", 1)[-1])
    except KeyError:
        return None
    return {"o200k_harmony": "o200k_base"}.get(name, name) if name in ("cl100k_base", "o200k_base", "o200k_harmony") else None
