"""Which models see pictures: by their names as their makers publish it, and as servers have said.

No server lists it, and price lists do not tell. A model that is not known is asked with pictures:
what its server says is known from then on.
"""

from __future__ import annotations

import re
from typing import Literal

from agentkit.errors import ContextTooLong, ModelAuthFailed, ModelError, ModelTimedOut, RateLimited
from agentkit.llm.model import Model

Sight = Literal["sees", "blind", "unknown"]
_NAMES: tuple[tuple[Sight, str], ...] = (
    ("blind", r"^extractive$"),
    ("sees", r"vision|multimodal|[-_.\d]vl\b|llava|pixtral|moondream|minicpm-v|omni"),
    ("blind", r"audio|transcribe|-tts|gpt-3|gpt-oss|gpt-4(-\d{4}|-32k)?$|davinci|babbage"),
    ("sees", r"gpt-4(o|\.1|\.5|-turbo)|gpt-[5-9]|chatgpt-4o"),
    ("blind", r"\bo1-(mini|preview)|\bo3-mini|claude-(2|instant)"),
    ("sees", r"\bo[134]\b|claude-([3-9]|opus|sonnet|haiku)|gemini|llama-?4"),
    ("blind", r"deepseek-(chat|reasoner|coder|r1|v[23])|llama-?[23]|codellama|mixtral"),
    ("blind", r"mistral-(7b|nemo)|codestral|command-r|starcoder|olmo|smollm"),
    ("blind", r"gemma-?[12]\b|gemma-?3.(1b|270m)|phi-?[1-4]\b"),
    ("blind", r"qwen-?[12](\.5)?\b|qwen-?3\b(?!\.)"),
    ("sees", r"gemma-?3(?!n)"),
    ("unknown", ""),
)
_KNOWN = tuple((sight, re.compile(names)) for sight, names in _NAMES)
"""The first that is found in a model's name decides. Sources: the makers' lists of models."""
_REFUSAL = re.compile(
    r"image|vision|multi-?modal|picture|mmproj|content must be a string|unknown variant"
    r"|content.{0,60}(valid string|type string)",
    re.I | re.S,
)
_ABOUT_PICTURE = re.compile(
    r"too (large|big|many|small)|exceed|invalid image|could not (process|decode|load)|corrupt"
    r"|base64|dimension|resolution|safety|policy",
    re.I,
)
"""Words about this picture: another one may be taken."""
_OTHERWISE = (ContextTooLong, ModelAuthFailed, ModelTimedOut, RateLimited)
_blind: set[tuple[str, str]] = set()
"""By server and model: those that have refused pictures."""


def find_sight(model: Model) -> Sight:
    """Whether a model sees, as far as anybody knows."""
    if (model.provider, model.name) in _blind:
        return "blind"
    name = model.name.lower()
    found = filter(lambda known: known[1].search(name), _KNOWN)
    sight, _ = next(found)
    return sight


def refuses_pictures(error: ModelError) -> bool:
    """Whether an error says that pictures are not taken at all."""
    said = str(error)
    is_otherwise = isinstance(error, _OTHERWISE)
    is_about_this_one = _ABOUT_PICTURE.search(said)
    if any((is_otherwise, is_about_this_one)):
        return False
    found = _REFUSAL.search(said)
    return found is not None


def note_blind(provider: str, name: str) -> None:
    """Know from now on, for as long as the process lives, that this model does not see."""
    _blind.add((provider, name))
