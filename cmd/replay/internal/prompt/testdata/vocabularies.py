"""Encodes prompts with the vocabularies that mistral-common ships.

Usage: vocabularies.py FILE, lines of {"tokens": N, "text": "…"}, N the length of the plan.
Prints key=value lines: the prompts and tokens of the plan, for each vocabulary how many
prompts have another length, and the first of these.
"""
import json
import sys
from pathlib import Path

import mistral_common
from mistral_common.tokens.tokenizers.sentencepiece import SentencePieceTokenizer
from mistral_common.tokens.tokenizers.tekken import Tekkenizer

data = Path(mistral_common.__file__).parent / "data"
vocabularies = {
    "sentencepiece_v1": SentencePieceTokenizer(str(data / "tokenizer.model.v1")),
    "sentencepiece_v3": SentencePieceTokenizer(str(data / "mistral_instruct_tokenizer_240323.model.v3")),
    "tekken": Tekkenizer.from_file(str(data / "tekken_240911.json")),
}
prompts = [json.loads(line) for line in open(sys.argv[1])]
print(f"prompts={len(prompts)}")
print(f"tokens={sum(p['tokens'] for p in prompts)}")
for name, vocabulary in vocabularies.items():
    wrong = 0
    for i, p in enumerate(prompts):
        got = len(vocabulary.encode(p["text"], bos=False, eos=False))
        if got != p["tokens"]:
            wrong += 1
            if wrong == 1:
                print(f"{name}: prompt {i}: {got} tokens; want {p['tokens']}: {p['text'][:80]}")
    print(f"{name}={wrong}")
