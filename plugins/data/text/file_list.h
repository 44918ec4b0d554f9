// SPDX-License-Identifier: Apache-2.0
//
// The files that the option `path` means.
#pragma once

#include <string>
#include <vector>

// Each entry is a file, a folder (all regular files below it, hidden ones too, whatever their name), or a glob of
// either. Entries keep their order; what a glob or folder yields is sorted bytewise by path, whatever the locale.
// Symbolic links to files are followed; those to folders only where an entry names them. A file that is reached more
// than once counts once, at its first place. UserError: nothing matches, a missing file, a folder or file that cannot
// be opened, anything that is neither file nor folder.
std::vector<std::string> list_files(const std::vector<std::string>& entries);

// "cannot WHAT PATH: system text".
[[noreturn]] void throw_file_error(const std::string& what, const std::string& path, int error);
