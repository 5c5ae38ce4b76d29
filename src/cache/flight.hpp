#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "cache/store.hpp"

namespace mgemm {

/// How long to wait for another process that makes the same entry before making it here as well.
constexpr std::chrono::milliseconds default_lock_bound = std::chrono::seconds(120);

/// What a maker gives: fields and payload, and why they must not be kept ("" if they may).
struct Made {
  Entry entry;
  std::string reason_not_to_keep{};
  // NOLINTNEXTLINE(google-explicit-constructor): an entry that may be kept is the usual case
  Made(Entry made, std::string reason = {}) : entry(std::move(made)), reason_not_to_keep(std::move(reason)) {}
};

/// The entry of a key: from the store, or made now and kept. However many threads of this process ask at once, one
/// makes it and the others get its result; processes that share the directory wait for each other, within the bound.
///
/// What `make` throws reaches everyone who waits, and is forgotten: the next call makes anew. It must not ask for the
/// same key and kind again. Nothing that is wrong with the cache is ever thrown.
Entry make_once(Store& store, const Digest& key, Kind kind, const std::function<Made()>& make,
                std::chrono::milliseconds bound = default_lock_bound);

/// The same for a caller that has looked already and found none.
Entry make_missing(Store& store, const Digest& key, Kind kind, const std::function<Made()>& make,
                   std::chrono::milliseconds bound = default_lock_bound);

}  // namespace mgemm
