/*
 * A stub that stands in for miniaudio when scripts/real-server.sh builds Ollama
 * from its module zip, which leaves vendored C out. The server is used for text
 * alone, so every attempt to decode audio fails.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef int ma_result;
typedef uint64_t ma_uint64;
enum { MA_SUCCESS = 0, MA_ERROR = -1 };
typedef enum { ma_format_f32 = 5 } ma_format;
typedef struct { int unused; } ma_decoder_config;
typedef struct { int unused; } ma_decoder;

static inline ma_decoder_config ma_decoder_config_init(ma_format, unsigned, unsigned) { return ma_decoder_config{0}; }
static inline ma_result ma_decoder_init_memory(const void *, size_t, const ma_decoder_config *, ma_decoder *) { return MA_ERROR; }
static inline ma_result ma_decoder_get_length_in_pcm_frames(ma_decoder *, ma_uint64 *) { return MA_ERROR; }
static inline ma_result ma_decoder_read_pcm_frames(ma_decoder *, void *, ma_uint64, ma_uint64 *) { return MA_ERROR; }
static inline ma_result ma_decoder_uninit(ma_decoder *) { return MA_SUCCESS; }
