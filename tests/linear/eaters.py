"""All functions of agentkit that read text which somebody else wrote."""

from tests.linear import of_documents, of_models

EATERS = [*of_models.EATERS, *of_documents.EATERS]
