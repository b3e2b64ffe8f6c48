#!/usr/bin/env python3
"""Turns a GGUF file of a Llama model into the Hugging Face directory that whet-trainer reads.

    gguf_to_hf.py MODEL.gguf OUT_DIR

Needs numpy only. Writes config.json, generation_config.json, model.safetensors (bfloat16),
tokenizer.json, tokenizer_config.json, chat_template.jinja and SHA256SUMS. What it does not know
(another architecture, tokenizer or quantisation, rotary scaling) it refuses instead of guessing.

Formats: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md,
https://github.com/huggingface/safetensors#format.
"""
import hashlib
import json
import mmap
import os
import struct
import sys

import numpy as np

# --- GGUF -----------------------------------------------------------------------------------------

# Metadata value types by number; 8 is a string and 9 an array.
SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?",
           10: "<Q", 11: "<q", 12: "<d"}
# Tensor types by number: name, values per block, bytes per block.
QUANTS = {0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20),
          8: ("Q8_0", 32, 34), 30: ("BF16", 1, 2)}


class Unsupported(Exception):
    """The file is valid perhaps, but this program would have to guess."""


class Gguf:
    """The metadata and tensors of a GGUF file, version 2 or 3, little endian."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._at = 0
        if self._data[:4] != b"GGUF":
            raise Unsupported(f"{path} is not a GGUF file")
        self._at = 4
        version, n_tensors, n_fields = (self._scalar(f) for f in ("<I", "<Q", "<Q"))
        if version not in (2, 3):
            raise Unsupported(f"GGUF version {version}; 2 and 3 are handled")
        self.fields = {}
        for _ in range(n_fields):
            key = self._string()
            self.fields[key] = self._value(self._scalar("<I"))
        infos = []
        for _ in range(n_tensors):
            name = self._string()
            # GGUF lists the fastest-moving dimension first.
            shape = tuple(reversed([self._scalar("<Q") for _ in range(self._scalar("<I"))]))
            infos.append((name, shape, self._scalar("<I"), self._scalar("<Q")))
        alignment = self.fields.get("general.alignment", 32)
        start = -(-self._at // alignment) * alignment
        self.tensors = {name: (shape, kind, start + offset)
                        for name, shape, kind, offset in infos}

    def tensor(self, name):
        """The tensor as float32, in its own shape."""
        shape, kind, offset = self.tensors[name]
        if kind not in QUANTS:
            raise Unsupported(f"tensor {name} has quantisation type {kind}; handled are "
                              + ", ".join(q[0] for q in QUANTS.values()))
        quant, block_values, block_bytes = QUANTS[kind]
        n_blocks = int(np.prod(shape)) // block_values
        raw = np.frombuffer(self._data, np.uint8, n_blocks * block_bytes, offset)
        return dequantize(quant, raw.reshape(n_blocks, block_bytes)).reshape(shape)

    def _scalar(self, fmt):
        (value,) = struct.unpack_from(fmt, self._data, self._at)
        self._at += struct.calcsize(fmt)
        return value

    def _string(self):
        size = self._scalar("<Q")
        text = self._data[self._at:self._at + size].decode("utf-8")
        self._at += size
        return text

    def _value(self, kind):
        if kind == 8:
            return self._string()
        if kind == 9:
            item = self._scalar("<I")
            return [self._value(item) for _ in range(self._scalar("<Q"))]
        value = self._scalar(SCALARS[kind])
        # The shortest decimal that is the same float32: 1e-05, not 9.999999747378752e-06.
        return float(str(np.float32(value))) if kind == 6 else value


def dequantize(quant, blocks):
    """Blocks [n_blocks, block_bytes] u8 to float32 [n_blocks, values per block]."""
    def halves(at):
        return blocks[:, at:at + 2].copy().view(np.float16).astype(np.float32)

    def nibbles(at):  # The low halves of all bytes come first, then the high halves.
        packed = blocks[:, at:]
        return np.concatenate([packed & 0x0F, packed >> 4], axis=1).astype(np.float32)

    if quant == "F32":
        return blocks.copy().view(np.float32)
    if quant == "F16":
        return blocks.copy().view(np.float16).astype(np.float32)
    if quant == "BF16":
        return (blocks.copy().view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    if quant == "Q4_0":
        return halves(0) * (nibbles(2) - 8)
    if quant == "Q4_1":
        return halves(0) * nibbles(4) + halves(2)
    return halves(0) * blocks[:, 2:].copy().view(np.int8).astype(np.float32)  # Q8_0


# --- Weights --------------------------------------------------------------------------------------

TOP_NAMES = {"token_embd.weight": "model.embed_tokens.weight",
             "output_norm.weight": "model.norm.weight", "output.weight": "lm_head.weight"}
LAYER_NAMES = {"attn_norm.weight": "input_layernorm.weight",
               "ffn_norm.weight": "post_attention_layernorm.weight",
               "ffn_gate.weight": "mlp.gate_proj.weight", "ffn_up.weight": "mlp.up_proj.weight",
               "ffn_down.weight": "mlp.down_proj.weight",
               "attn_q.weight": "self_attn.q_proj.weight",
               "attn_k.weight": "self_attn.k_proj.weight",
               "attn_v.weight": "self_attn.v_proj.weight",
               "attn_output.weight": "self_attn.o_proj.weight"}


def hf_name(name):
    if name in TOP_NAMES:
        return TOP_NAMES[name]
    parts = name.split(".", 2)
    if parts[0] != "blk" or parts[2] not in LAYER_NAMES:
        raise Unsupported(f"tensor {name} has no place in a Llama model")
    return f"model.layers.{parts[1]}.{LAYER_NAMES[parts[2]]}"


def unpermute(weight, n_heads):
    """Llama GGUF files interleave the two rotary halves of each q and k head; undo that."""
    half = weight.shape[0] // n_heads // 2
    return weight.reshape(n_heads, half, 2, -1).swapaxes(1, 2).reshape(weight.shape)


def to_bfloat16(values):
    """float32 to the bits of bfloat16, rounded to nearest even."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def write_safetensors(path, tensors):
    """tensors: name -> uint16 array of bfloat16 bits."""
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name in sorted(tensors):
        size = tensors[name].nbytes
        header[name] = {"dtype": "BF16", "shape": list(tensors[name].shape),
                        "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in sorted(tensors):
            file.write(tensors[name].tobytes())


def convert_weights(gguf, n_heads, n_kv_heads):
    heads = {"attn_q.weight": n_heads, "attn_k.weight": n_kv_heads}
    tensors = {}
    for name in gguf.tensors:
        weight = gguf.tensor(name)
        if not np.isfinite(weight).all():
            raise Unsupported(f"tensor {name} holds values that are not finite")
        leaf = name.split(".", 2)[-1]
        if leaf in heads:
            weight = unpermute(weight, heads[leaf])
        tensors[hf_name(name)] = to_bfloat16(weight)
    return tensors


# --- Configuration and tokenizer ------------------------------------------------------------------

def config(gguf):
    if gguf.fields.get("general.architecture") != "llama":
        raise Unsupported(f"architecture {gguf.fields.get('general.architecture')!r}; "
                          "only llama is handled")
    if any(key.startswith("llama.rope.scaling") for key in gguf.fields) \
            or "rope_freqs.weight" in gguf.tensors:
        raise Unsupported("rotary scaling is not handled")

    def field(key, default=None):
        value = gguf.fields.get(f"llama.{key}", default)
        if value is None:
            raise Unsupported(f"the file lacks llama.{key}")
        return value

    n_heads, hidden = field("attention.head_count"), field("embedding_length")
    theta = float(field("rope.freq_base", 10000.0))
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": hidden,
        "num_hidden_layers": field("block_count"),
        "num_attention_heads": n_heads,
        "num_key_value_heads": field("attention.head_count_kv", n_heads),
        "head_dim": field("attention.key_length", hidden // n_heads),
        "intermediate_size": field("feed_forward_length"),
        "vocab_size": gguf.tensors["token_embd.weight"][0][0],
        "max_position_embeddings": field("context_length"),
        "rms_norm_eps": field("attention.layer_norm_rms_epsilon"),
        # transformers 5 reads rope_parameters, transformers 4 rope_theta.
        "rope_theta": theta,
        "rope_parameters": {"rope_type": "default", "rope_theta": theta},
        "hidden_act": "silu",
        "tie_word_embeddings": "output.weight" not in gguf.tensors,
        "torch_dtype": "bfloat16",
        "bos_token_id": gguf.fields.get("tokenizer.ggml.bos_token_id"),
        "eos_token_id": gguf.fields.get("tokenizer.ggml.eos_token_id"),
        "attention_bias": False,
        "mlp_bias": False,
    }


CONTROL, USER_DEFINED = 3, 4  # Values of tokenizer.ggml.token_type that are matched whole.


def tokenizer(gguf):
    """tokenizer.json as the `tokenizers` package writes it."""
    get = gguf.fields.get
    if get("tokenizer.ggml.model") != "gpt2":
        raise Unsupported("only byte-level BPE (tokenizer.ggml.model = gpt2) is handled")
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
                  "use_regex": True}
    splitters = {"gpt-2": byte_level, "default": byte_level,
                 "smollm": {"type": "Sequence", "pretokenizers": [
                     {"type": "Digits", "individual_digits": True}, byte_level]}}
    splitter = get("tokenizer.ggml.pre", "default")
    if splitter not in splitters:
        raise Unsupported(f"tokenizer.ggml.pre = {splitter!r}; handled are "
                          + ", ".join(splitters))
    tokens, kinds = get("tokenizer.ggml.tokens"), get("tokenizer.ggml.token_type")
    added = [{"id": i, "content": token, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": kind == CONTROL}
             for i, (token, kind) in enumerate(zip(tokens, kinds))
             if kind in (CONTROL, USER_DEFINED)]
    model = {"type": "BPE", "dropout": None, "unk_token": None,
             "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
             "byte_fallback": False, "ignore_merges": False,
             "vocab": {token: i for i, token in enumerate(tokens)},
             "merges": [merge.split(" ") for merge in get("tokenizer.ggml.merges")]}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
            "normalizer": None, "pre_tokenizer": splitters[splitter], "post_processor": None,
            "decoder": byte_level | {"add_prefix_space": True}, "model": model}


def tokenizer_config(gguf, context_length):
    result = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": context_length,
              "clean_up_tokenization_spaces": False, "add_prefix_space": False}
    tokens = gguf.fields["tokenizer.ggml.tokens"]
    for key, name in (("bos_token", "bos"), ("eos_token", "eos"), ("pad_token", "padding"),
                      ("unk_token", "unknown")):
        token_id = gguf.fields.get(f"tokenizer.ggml.{name}_token_id")
        if token_id is not None:
            result[key] = tokens[token_id]
    template = gguf.fields.get("tokenizer.chat_template")
    if template:
        result["chat_template"] = template
    return result


# --- The program ----------------------------------------------------------------------------------

def convert(gguf_path, out):
    gguf = Gguf(gguf_path)
    model_config = config(gguf)
    text_files = {
        "config.json": model_config,
        "generation_config.json": {key: model_config[key] for key in
                                   ("bos_token_id", "eos_token_id")
                                   if model_config[key] is not None},
        "tokenizer.json": tokenizer(gguf),
        "tokenizer_config.json": tokenizer_config(gguf, model_config["max_position_embeddings"]),
    }
    n_tokens = len(gguf.fields["tokenizer.ggml.tokens"])
    if n_tokens > model_config["vocab_size"]:
        raise Unsupported(f"{n_tokens} tokens, but {model_config['vocab_size']} embedding rows")

    os.makedirs(out, exist_ok=True)
    for name, value in text_files.items():
        with open(os.path.join(out, name), "w", encoding="utf-8") as file:
            json.dump(value, file, indent=2, ensure_ascii=False)
    template = gguf.fields.get("tokenizer.chat_template")
    if template:
        with open(os.path.join(out, "chat_template.jinja"), "w", encoding="utf-8") as file:
            file.write(template)
    tensors = convert_weights(gguf, model_config["num_attention_heads"],
                              model_config["num_key_value_heads"])
    write_safetensors(os.path.join(out, "model.safetensors"), tensors)

    with open(os.path.join(out, "SHA256SUMS"), "w", encoding="utf-8") as sums:
        for name in sorted(os.listdir(out)):
            if name != "SHA256SUMS":
                with open(os.path.join(out, name), "rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
                sums.write(f"{digest}  {name}\n")
    print(f"{out}: {len(tensors)} tensors, {n_tokens} tokens")


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: gguf_to_hf.py MODEL.gguf OUT_DIR")
    try:
        convert(sys.argv[1], sys.argv[2])
    except (Unsupported, OSError, struct.error, KeyError) as error:
        sys.exit(f"gguf_to_hf.py: {sys.argv[1]}: {error}")


if __name__ == "__main__":
    main()
