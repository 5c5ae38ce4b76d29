#pragma once
#include <chrono>
#include <functional>

#include "cache/store.hpp"

namespace mgemm {

/// How long to wait for another process that makes the same entry before making it here as well.
constexpr std::chrono::milliseconds default_lock_bound = std::chrono::seconds(120);

/// The entry of a key: from the store, or made now and kept. However many threads of this process ask at once, one
/// makes it and the others get its result; processes that share the directory wait for each other, within the bound.
///
/// `make` gives fields and payload. What it throws reaches everyone who waits, and is forgotten: the next call makes
/// anew. It must not ask for the same key and kind again. Nothing that is wrong with the cache is ever thrown.
Entry make_once(Store& store, const Digest& key, Kind kind, const std::function<Entry()>& make,
                std::chrono::milliseconds bound = default_lock_bound);

}  // namespace mgemm
