"""The lines that stand for what happened."""

from __future__ import annotations

from agentkit.events import Compressed
from agentkit.llm.calls.room import STRATEGY
from agentkit.ui.steps import draw


def test_what_was_not_sent_is_told() -> None:
    told = Compressed(
        "A", STRATEGY, True, 5, 4, 262_440, 2_900, estimated=True, results_shortened=1
    )
    assert draw.describe(told) == (
        ":material/compress: Sent less, to fit the model's window: 5 messages to 4, "
        "about 262,440 to 2,900 tokens, 1 long result cut in the middle"
    )
