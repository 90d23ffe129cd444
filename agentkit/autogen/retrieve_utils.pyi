"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents.retrieve_chat import TEXT_FORMATS as TEXT_FORMATS
from agentkit.agents.retrieve_chat import UNSTRUCTURED_FORMATS as UNSTRUCTURED_FORMATS
from agentkit.agents.retrieve_chat import extract_text_from_pdf as extract_text_from_pdf
from agentkit.agents.retrieve_chat import get_file_from_url as get_file_from_url
from agentkit.agents.retrieve_chat import get_files_from_dir as get_files_from_dir
from agentkit.agents.retrieve_chat import is_url as is_url
from agentkit.agents.retrieve_chat import parse_html_to_markdown as parse_html_to_markdown
from agentkit.agents.retrieve_chat import split_files_to_chunks as split_files_to_chunks
from agentkit.agents.retrieve_chat import split_text_to_chunks as split_text_to_chunks

__all__: list[str]
