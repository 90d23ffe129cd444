"""What is different when a finished run is run again from one of its steps."""

from __future__ import annotations

from dataclasses import dataclass

from agentkit.errors import WrongArgument


@dataclass(frozen=True, slots=True)
class Repeat:
    """A run to begin from: what was done before the step is served, the rest is done anew.

    Another model, and other settings of the team, are those of the question that it goes with.
    """

    run_id: str
    from_step: int = 0
    """The model call from which on things are done anew, counted from 1; or see `label`."""
    label: str = ""
    """The step of a plan, such as `#E2`, that is done anew in place of all from a call on."""
    reply: str | None = None
    """What that call is to have replied; None to ask the model."""
    instructions: str | None = None
    """What the agent of that call is told in place of its system message from then on; where it
    has none, in place of the last message of that call.
    """
    agent: str = ""
    """Whose instructions these are, where an earlier run had changed them."""
    model_name: str = ""
    """The model that was asked before the step, if another one is asked from then on."""

    def __post_init__(self) -> None:
        """Raises WrongArgument for what names no step, or two."""
        names_step, names_label = self.from_step > 0, bool(self.label)
        if names_step == names_label:
            raise WrongArgument(
                f"from_step is {self.from_step!r} and label {self.label!r}; give a number from 1"
                " on, or the label of a plan's step."
            )
        has_changes = self.reply is not None or self.instructions is not None
        if names_label and has_changes:
            raise WrongArgument("A step of a plan has no reply and no instructions to be changed.")
