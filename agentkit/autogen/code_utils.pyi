"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.coding.code_blocks import UNKNOWN as UNKNOWN
from agentkit.coding.code_blocks import content_str as content_str
from agentkit.coding.code_blocks import infer_lang as infer_lang
from agentkit.coding.legacy import CODE_BLOCK_PATTERN as CODE_BLOCK_PATTERN
from agentkit.coding.legacy import DEFAULT_MODEL as DEFAULT_MODEL
from agentkit.coding.legacy import DEFAULT_TIMEOUT as DEFAULT_TIMEOUT
from agentkit.coding.legacy import FAST_MODEL as FAST_MODEL
from agentkit.coding.legacy import PYTHON_VARIANTS as PYTHON_VARIANTS
from agentkit.coding.legacy import WORKING_DIR as WORKING_DIR
from agentkit.coding.legacy import check_can_use_docker_or_throw as check_can_use_docker_or_throw
from agentkit.coding.legacy import create_virtual_env as create_virtual_env
from agentkit.coding.legacy import decide_use_docker as decide_use_docker
from agentkit.coding.legacy import execute_code as execute_code
from agentkit.coding.legacy import extract_code as extract_code
from agentkit.coding.legacy import is_docker_running as is_docker_running

__all__: list[str]
