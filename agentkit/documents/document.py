"""What reading yields: a document's text, its sections, and the limits that reading keeps."""

from __future__ import annotations

from dataclasses import dataclass

from agentkit.settings import Settings


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of a document with one heading and one place; `text ==
    document.text[start:end]`.
    """

    text: str
    start: int
    end: int
    heading: str = ""
    """Path of headings, "Chapter > Part", may be empty."""
    page: int | None = None
    """Page or slide, counted from 1."""
    place: str = ""
    """Where it is in the file: "Sales!A2:F41", "rows 2-41", "lines 1-9", "cell 3", "$.items[4]", a
    chapter's file.
    """


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The whole text of one document and its sections, in reading order."""

    text: str
    sections: tuple[Section, ...]
    media_type: str
    title: str
    pages: int | None


@dataclass(frozen=True)
class Limits:
    """What reading one document may cost."""

    max_bytes: int = 50 * 2**20
    max_chars: int = 20_000_000
    max_pages: int = 5_000
    timeout_s: float = 120.0
    memory_mb: int = 2_048

    @classmethod
    def from_settings(cls, settings: Settings) -> Limits:
        """The limits that the settings ask for."""
        return cls(
            settings.max_file_mb * 2**20,
            settings.max_chars,
            settings.max_pages,
            settings.read_timeout_s,
            settings.read_memory_mb,
        )
