#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include <fmt/core.h>

#include "cache_key.hpp"
#include "cache_report.hpp"
#include "commands.hpp"
#include "failure.hpp"
#include "mamba_gemm/mamba_gemm.hpp"
#include "options.hpp"
#include "whole_file.hpp"

namespace mgemm::cli {
namespace {

struct CacheOptions {
  std::string folder;  // "" is the library's choice
  bool json = false;
  std::string key, payload;  // show
  bool repair = false;       // verify
  std::string older_than;    // purge
  bool all = false;

  /// As the library takes it.
  const char* directory() const { return folder.empty() ? nullptr : folder.c_str(); }
};

int complain(const std::string& text) {
  say(fmt::format("mamba-gemm: {}\n", text));
  return exit_mismatch;
}

/// Of a listing or totals: whether there is no cache at all.
bool is_none(const Json& object) { return shown(object, "path").empty(); }

int complain_of_none(const Json& totals) {
  return complain(fmt::format("there is no cache folder: {}", shown(totals, "rule")));
}

Json totals_of(const CacheOptions& options) { return Json::parse(mamba_gemm::cache_totals_json(options.directory())); }
Json listing_of(const CacheOptions& options) { return Json::parse(mamba_gemm::cache_list_json(options.directory())); }

/// A listing's head, with other entries.
Json listing_with(const Json& listing, Json entries) {
  return {{"path", listing["path"]}, {"rule", listing["rule"]}, {"entries", std::move(entries)}};
}

int print_path(const CacheOptions& options) {
  const Json totals = totals_of(options);
  // Not from the JSON, which replaces what is not UTF-8: a shell must be able to go there.
  const std::string path = options.folder.empty() ? mamba_gemm::cache_path() : options.folder;
  if (options.json) {
    print(dump({{"path", totals["path"]}, {"rule", totals["rule"]}}));
  } else if (!path.empty()) {
    print(path + '\n');
  }
  return is_none(totals) ? complain_of_none(totals) : exit_ok;
}

int print_stats(const CacheOptions& options) {
  const Json totals = totals_of(options);
  print(options.json ? dump(totals) : totals_text(totals));
  if (!totals["refusal"].is_null()) return exit_library;
  return is_none(totals) ? exit_mismatch : exit_ok;
}

Json unsound_of(const Json& listing) {
  Json bad = Json::array();
  for (const Json& entry : listing["entries"])
    if (entry["sound"] != true) bad.push_back(entry);
  return bad;
}

int list(const CacheOptions& options) {
  const Json listing = listing_of(options);
  if (is_none(listing)) return complain_of_none(listing);
  print(options.json ? dump(listing) : list_text(listing));
  return unsound_of(listing).empty() ? exit_ok : exit_mismatch;
}

void write_payload(const CacheOptions& options, const Json& entry) {
  const std::string bytes =
      mamba_gemm::cache_payload(shown(entry, "key"), kind_of(shown(entry, "kind")), options.directory());
  if (options.payload == "-") return print(bytes);
  std::error_code ignored;
  if (std::filesystem::exists(options.payload, ignored) && !std::filesystem::is_regular_file(options.payload, ignored))
    bad_input("--payload {}: exists and is not a regular file", options.payload);
  write_whole_file(options.payload, {bytes});
}

int show(const CacheOptions& options) {
  const KeyChoice choice = parse_key(options.key);
  const bool payload_is_output = options.payload == "-";
  if (payload_is_output && options.json) bad_input("--payload - and --json exclude each other");
  const Json listing = listing_of(options);
  if (is_none(listing)) return complain_of_none(listing);
  const Json entry = choose_entry(listing["entries"], choice);
  if (entry.is_null()) return complain(fmt::format("there is no entry {} in {}", options.key, shown(listing, "path")));
  if (!options.payload.empty()) write_payload(options, entry);
  if (!payload_is_output) print(options.json ? dump(listing_with(listing, Json::array({entry}))) : entry_text(entry));
  return entry["sound"] == true ? exit_ok : exit_mismatch;
}

int verify(const CacheOptions& options) {
  const Json listing = listing_of(options);
  if (is_none(listing)) return complain_of_none(listing);
  const Json bad = unsound_of(listing);
  // What is listed above was bad a moment ago; the numbers are of the check that removes.
  const mgemm_cache_report report = mamba_gemm::cache_verify(options.repair, options.directory());
  if (options.json) {
    Json json = listing_with(listing, bad);
    json.update({{"sound", report.sound},
                 {"bad", report.bad},
                 {"removed", report.removed},
                 {"failed", report.failed},
                 {"bytes", report.bytes}});
    print(dump(json));
  } else {
    std::string text;
    for (const Json& entry : bad) text += bad_entry_text(entry);
    text += fmt::format("{} sound, {} not", entries_text(report.sound), report.bad);
    if (options.repair) text += fmt::format("; removed {} ({})", report.removed, size_text(report.bytes));
    if (report.failed != 0) text += fmt::format("; {} could not be removed", report.failed);
    print(text + '\n');
  }
  return report.bad == 0 || (options.repair && report.failed == 0) ? exit_ok : exit_mismatch;
}

int purge(const CacheOptions& options) {
  if (options.all == !options.older_than.empty())
    bad_input("cache purge needs either --older-than with a duration, or --all");
  const std::int64_t seconds = options.all ? -1 : parse_duration(options.older_than);
  const Json totals = totals_of(options);
  if (is_none(totals)) return complain_of_none(totals);
  const mgemm_cache_report report = mamba_gemm::cache_purge(seconds, options.directory());
  if (options.json) {
    print(dump({{"path", totals["path"]},
                {"rule", totals["rule"]},
                {"removed", report.removed},
                {"failed", report.failed},
                {"bytes", report.bytes}}));
  } else {
    print(fmt::format("removed {}, {}\n", entries_text(report.removed), size_text(report.bytes)));
  }
  if (report.failed == 0) return exit_ok;
  return complain(fmt::format("{} could not be removed from {}", entries_text(report.failed), shown(totals, "path")));
}

/// A path as users write it, for the library.
std::string absolute_folder(const std::string& folder) {
  if (folder.empty()) bad_input("--dir: must name a folder");
  return std::filesystem::absolute(folder).string();
}

using Action = int (*)(const CacheOptions& options);

/// One subcommand; `options` is shared by all of them, of which only one runs.
CLI::App& add_action(CLI::App& cache, const char* name, const char* help, Action action,
                     const std::shared_ptr<CacheOptions>& options, int& exit_code) {
  CLI::App* const command = cache.add_subcommand(name, help);
  CLI::Option* const folder =
      command->add_option("--dir", options->folder, "A folder other than the one that the library chooses");
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback([action, options, folder, &exit_code] {
    if (folder->count() != 0) options->folder = absolute_folder(options->folder);
    exit_code = action(*options);
  });
  return *command;
}

}  // namespace

void add_cache(CLI::App& app, int& exit_code) {
  CLI::App* const cache = app.add_subcommand("cache", "The folder of compiled code");
  cache->require_subcommand(1);
  const auto options = std::make_shared<CacheOptions>();
  const auto add = [&](const char* name, const char* help, Action action) -> CLI::App& {
    return add_action(*cache, name, help, action, options, exit_code);
  };
  add("path", "Print where it is", print_path);
  add("stats", "Show how much is in it, without reading it", print_stats);
  add("list", "List every entry, read and checked, the latest used first", list);
  CLI::App& shown_one = add("show", "Show one entry, and where it came from", show);
  shown_one.add_option("key", options->key, "At least 4 digits of a key, and :KIND if it has several kinds")
      ->required();
  shown_one.add_option("--payload", options->payload, "Write the entry's content to a file, or to - for stdout alone");
  CLI::App& verified = add("verify", "Check every entry", verify);
  verified.add_flag("--repair", options->repair, "Remove the entries that would not be used");
  CLI::App& purged = add("purge", "Remove entries", purge);
  purged.add_option("--older-than", options->older_than, "Those not used for so long: 90s, 15m, 12h or 7d");
  purged.add_flag("--all", options->all, "All of them");
}

}  // namespace mgemm::cli
