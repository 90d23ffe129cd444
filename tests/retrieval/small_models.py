"""Small models without training, written as sentence-transformers writes them: of other kinds than
the packaged one.
"""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import (
    Dense,
    Pooling,
    StaticEmbedding,
    Transformer,
)
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedModel, PreTrainedTokenizerFast
from transformers.models.bert import BertConfig, BertModel
from transformers.models.roberta import RobertaConfig, RobertaModel

_SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
_LENGTH = 48


def write_bert(folder: Path, scale: float = 1.0) -> Path:
    """The mean over the tokens, then a dense layer; at most 48 tokens of lower case. The vectors of
    its words are of lengths about `scale` / 9.
    """
    inner = BertModel(BertConfig(hidden_size=32, **_SIZES))
    with torch.no_grad():
        inner.embeddings.word_embeddings.weight *= scale
    return _write(folder, inner, "mean", lower=True)


def write_roberta(folder: Path) -> Path:
    """The first token's vector, padded on the left, without token types; at most 48 tokens."""
    config = RobertaConfig(hidden_size=48, type_vocab_size=1, pad_token_id=1, **_SIZES)
    return _write(folder, RobertaModel(config), "cls", padding_side="left")


def write_static(folder: Path) -> Path:
    """A table of vectors of words: nothing that can be converted."""
    model = SentenceTransformer(modules=[StaticEmbedding(_tokenizer(lower=True), embedding_dim=24)])
    model.save(str(folder))
    return folder


_SIZES: dict[str, Any] = {
    "vocab_size": 200,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": _LENGTH + 4,
}


def _tokenizer(*, lower: bool) -> Tokenizer:
    letters = [*string.ascii_letters, *string.digits, *".,;äöü"]
    words = [*_SPECIAL, *letters, *(f"##{letter}" for letter in letters)]
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="<unk>"))
    if lower:
        tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("</s>", 2), ("<s>", 0))
    return tokenizer


def _write(
    folder: Path, inner: PreTrainedModel, pooling: str, *, lower: bool = False, **tokenizing: str
) -> Path:
    whole = folder / "whole"
    inner.save_pretrained(whole)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=_tokenizer(lower=lower),
        pad_token="<pad>",
        unk_token="<unk>",
        cls_token="<s>",
        sep_token="</s>",
        **tokenizing,
    )
    tokenizer.save_pretrained(whole)
    transformer = Transformer(str(whole), max_seq_length=_LENGTH)
    size = transformer.get_embedding_dimension()
    modules = [transformer, Pooling(size, pooling_mode=pooling)]
    if pooling == "mean":
        modules.append(Dense(size, 20))
    SentenceTransformer(modules=modules).save(str(folder / "model"))
    return folder / "model"
