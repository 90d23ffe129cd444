"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.llm.compatible.config_list import config_list_from_dotenv as config_list_from_dotenv
from agentkit.llm.compatible.config_list import config_list_from_json as config_list_from_json
from agentkit.llm.compatible.config_list import config_list_from_models as config_list_from_models
from agentkit.llm.compatible.config_list import config_list_gpt4_gpt35 as config_list_gpt4_gpt35
from agentkit.llm.compatible.config_list import config_list_openai_aoai as config_list_openai_aoai
from agentkit.llm.compatible.config_list import filter_config as filter_config
from agentkit.llm.compatible.config_list import get_config as get_config
from agentkit.llm.compatible.config_list import get_config_list as get_config_list

__all__: list[str]
