// Products on Hopper's tensor cores (contract MMA_F32): a thread of a warp group of its own lets the copy engine fill
// stages, from which the other warp groups multiply. Thread blocks stay for one tile after another, so that the stages
// of the next are filled while the last is stored.
#pragma once
#include "cluster.cuh"
#include "cp_async.cuh"
#include "fragment_store.cuh"
#include "operand_panels.cuh"
#include "quad_store.cuh"
#include "stage_turn.cuh"
#include "tile_position.cuh"
#include "wgmma.cuh"

namespace mgemm_kernel {

// GROUPS warp groups compute BM / GROUPS rows each. CLUSTER thread blocks have tiles below each other: each loads a
// part of b for all of them. OUT is the output's type. SLICED: instead, the blocks of a cluster, as many as there are
// slices, compute one tile, a slice of the reduction each, and there is no second tile.
template <int OP, int TYPE, int OUT, int BM, int BN, int STAGES, int GROUPS, int CLUSTER, bool SLICED>
struct WgmmaTile {
  static constexpr int kGroup = 16;                    // steps of one product
  static constexpr int kSteps = 64;                    // of a stage
  static constexpr int kRowBlocks = BM / GROUPS / 64;  // of a warp group
  static constexpr int kComputing = 128 * GROUPS;
  static constexpr int kThreads = kComputing + 128;
  static constexpr bool kAlongA = OP != TN;
  static constexpr bool kAlongB = OP == NT;
  using A = OperandPanels<2, BM, kSteps, kAlongA>;
  using B = OperandPanels<2, BN, kSteps, kAlongB>;
  using Sums = float[kRowBlocks][BN / 2];
  using Turn = StageTurn<STAGES>;
  static_assert(BM == 64 * kRowBlocks * GROUPS && BN % 16 == 0 && BN <= 256, "whole products");
  static_assert(A::kLineBytes == 128 && (!SLICED || CLUSTER == 1), "what is supported");

  // Shared memory: stages, in the end of slices sums; two barriers a stage. Permuted stages begin at multiples of
  // kBase.
  static constexpr int kBase = 1024;
  static constexpr int kStageBytes = A::kBytes + B::kBytes;
  static constexpr int kSumBytes = SLICED ? BM * BN * 4 : 0;
  static constexpr int kBarriers = STAGES * kStageBytes > kSumBytes ? STAGES* kStageBytes : kSumBytes;
  static constexpr int kSharedBytes = kBarriers + 16 * STAGES + kBase;
  static_assert(A::kBytes % kBase == 0 && kStageBytes % kBase == 0, "aligned");

  // Registers a thread: as few as copying takes, and as many as that leaves.
  static constexpr int kCopyRegisters = GROUPS == 2 ? 40 : 32;
  static constexpr int kComputeRegisters = GROUPS == 2 ? 232 : 160;

  // The steps that this block multiplies.
  struct Range {
    long long first, last;
    __device__ __forceinline__ explicit Range(const GemmParams& p) : first(0), last(p.reduction) {
      if constexpr (SLICED) {
        first = cluster_rank() * p.slice_length;
        last = first + p.slice_length < p.reduction ? first + p.slice_length : p.reduction;
      }
    }
  };

  // Walks through this block's tiles, in the order in which all blocks do.
  struct Walk {
    unsigned tile, count, stride, rank;

    __device__ __forceinline__ explicit Walk(const GemmParams& p) {
      const unsigned size = SLICED ? cluster_size() : CLUSTER;
      rank = CLUSTER > 1 ? cluster_rank() : 0;
      tile = blockIdx.x / size;
      stride = gridDim.x / size;
      count = static_cast<unsigned>((p.rows + CLUSTER * BM - 1) / (CLUSTER * BM) * ((p.columns + BN - 1) / BN));
    }
    __device__ __forceinline__ bool exists() const { return tile < count; }
    __device__ __forceinline__ void advance() { tile += stride; }
    __device__ __forceinline__ TilePosition position(const GemmParams& p) const {
      TilePosition at = tile_position<CLUSTER * BM, BN>(p, tile);
      at.row += rank * BM;
      return at;
    }
  };

  // By one thread.
  __device__ static __forceinline__ void copy(const TensorParams& params, unsigned shared) {
    const Range range(params.gemm);
    Turn turn{shared + kBarriers};
    for (Walk walk(params.gemm); walk.exists(); walk.advance()) {
      const TilePosition at = walk.position(params.gemm);
      for (long long step = range.first; step < range.last; step += kSteps) {
        const unsigned stage = shared + turn.stage * kStageBytes;
        barrier_wait(turn.left(), turn.parity ^ 1);  // at once the first time round
        barrier_expect(turn.arrived(), kStageBytes);
        A::load(params.a, stage, turn.arrived(), static_cast<int>(at.row), static_cast<int>(step));
        B::template load<CLUSTER>(params.b, stage + A::kBytes, turn.arrived(), static_cast<int>(at.column),
                                  static_cast<int>(step), static_cast<int>(walk.rank));
        turn.advance();
      }
    }
  }

  // Where a warp group's operands begin in stage 0, for the tensor cores.
  struct Descriptors {
    unsigned long long a, b;
    __device__ __forceinline__ Descriptors(unsigned shared, int group)
        : a(matrix_descriptor<A::kLineBytes>(shared + group * kRowBlocks * kBlockBytes, A::kPanelBytes,
                                             8 * A::kLineBytes)),
          b(matrix_descriptor<B::kLineBytes>(shared + A::kBytes, B::kPanelBytes, 8 * B::kLineBytes)) {}
  };
  // From 64 rows to the next, and from 16 steps to the next.
  static constexpr int kBlockBytes = kAlongA ? 64 * A::kLineBytes : A::kPanelBytes;
  static constexpr int kGroupBytesA = kAlongA ? 2 * kGroup : kGroup * A::kLineBytes;
  static constexpr int kGroupBytesB = kAlongB ? 2 * kGroup : kGroup * B::kLineBytes;

  // The tensor cores may still be at it when this returns.
  __device__ static __forceinline__ void multiply_group(const Descriptors& from, int stage, int group, Sums& sum) {
    const unsigned a = (stage * kStageBytes + group * kGroupBytesA) / 16;
    const unsigned b = (stage * kStageBytes + group * kGroupBytesB) / 16;
#pragma unroll
    for (int block = 0; block < kRowBlocks; ++block) {
      wgmma<TYPE, BN, !kAlongA, !kAlongB>(sum[block], from.a + a + block * (kBlockBytes / 16), from.b + b);
    }
  }

  // The copy thread of every block of the cluster may fill a stage again.
  __device__ static __forceinline__ void leave(const Turn& turn) {
    const unsigned lane = threadIdx.x % 32;
    if constexpr (CLUSTER == 1) {
      if (lane == 0) barrier_arrive(turn.left());
    } else {
      if (lane < CLUSTER) barrier_arrive_in_block(turn.left(), lane);
    }
  }

  // The chains of a tile, or of a slice of it.
  __device__ static __forceinline__ void multiply(const Range& range, const Descriptors& from, Turn& turn, Sums& sum) {
#pragma unroll
    for (int block = 0; block < kRowBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < BN / 2; ++i) sum[block][i] = 0.0f;
    }
    const long long steps = range.last - range.first;
    Turn before = turn;
    for (long long done = 0; done < steps / kSteps; ++done) {
      barrier_wait(turn.arrived(), turn.parity);
      wgmma_fence();
#pragma unroll
      for (int group = 0; group < kSteps / kGroup; ++group) multiply_group(from, turn.stage, group, sum);
      wgmma_commit();
      // While this stage is multiplied the one before is left.
      wgmma_wait<1>();
      if (done != 0) leave(before);
      before = turn;
      turn.advance();
    }
    wgmma_wait<0>();
    if (steps >= kSteps) leave(before);
    // As many groups as the contract has; the last is filled up with zeros.
    const int left = static_cast<int>(steps % kSteps);
    if (left == 0) return;
    barrier_wait(turn.arrived(), turn.parity);
#pragma unroll 1
    for (int group = 0; group * kGroup < left; ++group) {
      wgmma_fence();
      multiply_group(from, turn.stage, group, sum);
      wgmma_commit();
      wgmma_wait<0>();
    }
    leave(turn);
    turn.advance();
  }

  // The slices of a tile, each in another block's shared memory, added up in ascending order: every block does a part.
  __device__ static __forceinline__ void add_slices(const GemmParams& p, unsigned shared, const TilePosition& at,
                                                    const Sums& sum, int thread) {
    constexpr int kPairs = kRowBlocks * BN / 4;  // a thread; beside each other in a row
    const unsigned mine = shared + 8 * thread;
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      store_pair(mine + i * (8 * kComputing), sum[i / (BN / 4)][2 * i % (BN / 2)],
                 sum[i / (BN / 4)][2 * i % (BN / 2) + 1]);
    }
    cluster_sync();
    const int slices = static_cast<int>((p.reduction + p.slice_length - 1) / p.slice_length);
    const bool vectors = has_vector_rows<OUT, 2>(p);
    const int first_block = thread / 128 * kRowBlocks;
#pragma unroll 4
    for (int i = static_cast<int>(cluster_rank()); i < kPairs; i += static_cast<int>(cluster_size())) {
      const unsigned from = mine + i * (8 * kComputing);
      float2 total = load_pair_in_block(from, 0);
      for (int slice = 1; slice < slices; ++slice) {
        const float2 next = load_pair_in_block(from, slice);
        total.x = __fadd_rn(total.x, next.x);
        total.y = __fadd_rn(total.y, next.y);
      }
      const int within = i % (BN / 4);
      const long long row =
          at.row + (first_block + i / (BN / 4)) * 64 + thread % 128 / 32 * 16 + within % 2 * 8 + thread % 32 / 4;
      OutputPiece<OUT, 2> piece;
      piece.load(p, row, at.column + within / 2 * 8 + thread % 4 * 2, vectors);
      const float pair[2] = {total.x, total.y};
      piece.store(p, pair);
    }
  }

  __device__ static __forceinline__ void run(const TensorParams& params) {
    extern __shared__ float4 dynamic_shared[];
    const GemmParams& p = params.gemm;
    const unsigned shared = (shared_address(dynamic_shared) + kBase - 1) / kBase * kBase;
    const int thread = static_cast<int>(threadIdx.x);
    if (thread < STAGES) {
      const Turn turn{shared + kBarriers, thread};
      barrier_init(turn.arrived(), 1);
      barrier_init(turn.left(), kComputing / 32 * CLUSTER);
      publish_barriers();
    }
    if (thread == kComputing) {
      tensor_prefetch(params.a);
      tensor_prefetch(params.b);
    }
    __syncwarp();
    if constexpr (CLUSTER > 1) {
      cluster_sync();
    } else {
      __syncthreads();
    }
    const int group = thread / 128;
    if (group == GROUPS) {
      if constexpr (GROUPS > 1) give_up_registers<kCopyRegisters>();
      if (thread == kComputing) copy(params, shared);
      __syncwarp();
      if constexpr (SLICED) cluster_sync();  // with those that add them up
    } else {
      if constexpr (GROUPS > 1) claim_registers<kComputeRegisters>();
      const Range range(p);
      const Descriptors from(shared, group);
      Turn turn{shared + kBarriers};
      for (Walk walk(p); walk.exists(); walk.advance()) {
        Sums sum;
        multiply(range, from, turn, sum);
        const TilePosition at = walk.position(p);
        if constexpr (SLICED) {
          add_slices(p, shared, at, sum, thread);
        } else {
#pragma unroll
          for (int block = 0; block < kRowBlocks; ++block) {
            const long long row = at.row + (group * kRowBlocks + block) * 64 + thread % 128 / 32 * 16;
            store_rows<OUT, BN>(p, sum[block], row, at.column);
          }
        }
      }
    }
    if constexpr (CLUSTER > 1 || SLICED) {
      // A block's shared memory stays until no other copies into it, arrives at its barriers or reads its sums.
      __syncwarp();
      cluster_sync();
    }
  }
};

}  // namespace mgemm_kernel
