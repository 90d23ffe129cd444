"""Chats about documents: an agent that looks passages up, an assistant for it, and the reading and
cutting of files.

The functions have the names of AutoGen's `retrieve_utils`.
"""

from __future__ import annotations

from agentkit.agents.retrieve_chat.agent import RetrieveUserProxyAgent
from agentkit.agents.retrieve_chat.assistant import RetrieveAssistantAgent
from agentkit.agents.retrieve_chat.chunks import split_files_to_chunks, split_text_to_chunks
from agentkit.agents.retrieve_chat.files import (
    TEXT_FORMATS,
    UNSTRUCTURED_FORMATS,
    extract_text_from_pdf,
    get_file_from_url,
    get_files_from_dir,
    is_url,
    parse_html_to_markdown,
)
from agentkit.agents.retrieve_chat.prompts import PROMPT_CODE, PROMPT_DEFAULT, PROMPT_QA

__all__ = [
    "PROMPT_CODE",
    "PROMPT_DEFAULT",
    "PROMPT_QA",
    "TEXT_FORMATS",
    "UNSTRUCTURED_FORMATS",
    "RetrieveAssistantAgent",
    "RetrieveUserProxyAgent",
    "extract_text_from_pdf",
    "get_file_from_url",
    "get_files_from_dir",
    "is_url",
    "parse_html_to_markdown",
    "split_files_to_chunks",
    "split_text_to_chunks",
]
