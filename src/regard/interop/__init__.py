"""Other people's files: models of Hugging Face read into ours with equal logits, and ours written for them.

Needs nothing of `transformers`: a folder is config.json, safetensors and tokenizer files. Never pickle.
"""
