"""What is wrong with a plan, in words: in English, and in Chinese for planners that are spoken with
in Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_FORM = "`#E1 = ToolName[input]`"
_TEXTS = {
    "empty": ("there are no steps", "没有任何步骤"),
    "no plan": (
        f"there is no plan in it; write a line `Plan: ...` and below it {_FORM}, for every step",
        f"其中没有计划；请为每个步骤写一行 `Plan: ...`，并在下一行写 {_FORM}",
    ),
    "no action": (
        f"plan {{number}} ({{thought}}) has no action; write {_FORM} below it",
        f"第 {{number}} 个 Plan（{{thought}}）没有动作；请在它下面写 {_FORM}",
    ),
    "no plan line": ("{label} has no Plan line before it", "{label} 之前没有 Plan 行"),
    "second action": (
        "{label} is a second action of plan {number} ({thought}); each plan takes exactly one",
        "{label} 是第 {number} 个 Plan（{thought}）的第二个动作；每个 Plan 只能有一个动作",
    ),
    "too many": (
        "it has {steps} steps; at most {most} are taken",
        "共有 {steps} 个步骤；最多只能有 {most} 个",
    ),
    "too many lookups": (
        "{lookups} of its steps look something up; at most {most} may",
        "其中 {lookups} 个步骤在查找；最多只能有 {most} 个",
    ),
    "no input": ("{label} has no input for its tool", "{label} 没有给工具的输入"),
    "refused": (
        "the user does not want it so. They say: {reason}",
        "用户不同意这个计划。用户说：{reason}",
    ),
    "refused without reason": (
        "the user does not want it so and gives no reason; find another way",
        "用户不同意这个计划，也没有说明原因；请换一种办法",
    ),
    "more": ("and {more} more mistakes", "另外还有 {more} 处错误"),
    "no bracket": (
        "{label} = {tool}[ lacks the closing bracket ]",
        "{label} = {tool}[ 缺少右括号 ]",
    ),
    "doubtful end": (
        (
            'where the input of {label} ends is unclear; write it as JSON, such as {{"parameter":'
            ' "value"}}, and nothing after its closing bracket'
        ),
        (
            '{label} 的输入在哪里结束不明确；请把它写成 JSON，例如 {{"parameter": "value"}}，'
            "右括号之后不要再写任何内容"
        ),
    ),
    "no form": (
        "{label} is {line!r}, which is not of the form ToolName[input]",
        "{label} 是 {line!r}，不符合 ToolName[input] 的格式",
    ),
    "later": (
        "{label} refers to {others}, which comes later; put the steps in the order of their needs",
        "{label} 引用了后面才出现的 {others}；请按依赖顺序排列步骤",
    ),
    "no label": (
        "{label!r:.80} is not the name of a step; write #E and a number",
        "{label!r:.80} 不是步骤的名字；请写 #E 加数字",
    ),
    "twice": (
        "{label} is there twice; give every step a name of its own",
        "{label} 出现了两次；每个步骤都要有自己的名字",
    ),
    "unknown tool": (
        "{label} uses the unknown tool {tool!r:.80}",
        "{label} 使用了未知的工具 {tool!r:.80}",
    ),
    "tools": ("the tools are {tools}", "可用的工具：{tools}"),
    "no step": (
        "{label} refers to {others}, and there is no such step",
        "{label} 引用了 {others}，但没有这样的步骤",
    ),
    "circle": (
        "the steps {steps} wait for one another in a circle",
        "步骤 {steps} 互相等待，形成循环",
    ),
}
_IS_CHINESE = re.compile("[\u4e00-\u9fff]")


class Mistake(str):
    """One or several mistakes in English; `chinese` says the same."""

    chinese: str

    @classmethod
    def of(cls, kind: str, **values: object) -> Mistake:
        """A mistake of this kind."""
        english, chinese = _TEXTS[kind]
        return cls._make(english.format(**values), chinese.format(**values))

    @classmethod
    def join_all(cls, mistakes: Sequence[str]) -> Mistake:
        """Several as one."""
        return cls._make(
            "; ".join(mistakes), "；".join(getattr(each, "chinese", each) for each in mistakes)
        )

    @classmethod
    def _make(cls, english: str, chinese: str) -> Mistake:
        made = cls(english)
        made.chinese = chinese
        return made


def list_names(names: Iterable[str]) -> str:
    """Names in one line, which says so where there are none."""
    return ", ".join(names) or "none"


def choose_language(prompt: str, mistake: str) -> str:
    """The mistake in the language of the prompt that it is to be put into."""
    if not _IS_CHINESE.search(prompt):
        return mistake
    return str(getattr(mistake, "chinese", mistake))
