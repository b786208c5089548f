import Glibc
import Posix

/// The pages below `docs/dev`, for tests that compare them with the source.
enum DeveloperPages {
    static func text(_ path: String) throws -> String {
        let file = try OpenFile(LayeringTests.root + "/" + path, flags: O_RDONLY)
        return String(decoding: try file.readAll(limit: 1 << 20), as: UTF8.self)
    }

    /// Returns the Markdown files below a folder, by their paths in the repository; none if the folder is missing.
    static func pages(in folder: String = "docs/dev") throws -> [String] {
        guard access(LayeringTests.root + "/" + folder, F_OK) == 0 else { return [] }
        let directory = try OpenFile(LayeringTests.root + "/" + folder, flags: O_RDONLY)
        return try PrivateFolder.names(in: directory).sorted().flatMap { name -> [String] in
            let path = folder + "/" + name
            if name.hasSuffix(".md") { return [path] }
            var status = stat()
            guard lstat(LayeringTests.root + "/" + path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR
            else { return [] }
            return try pages(in: path)
        }
    }

    /// Returns the rows of the first table of a page, by cells.
    static func table(_ page: String) throws -> [[Substring]] {
        let lines = try text("docs/dev/" + page).split(separator: "\n", omittingEmptySubsequences: false)
        let rows = lines.drop { !$0.hasPrefix("| ") }.prefix { $0.hasPrefix("|") }
        return rows.filter { $0.hasPrefix("| ") }.dropFirst()
            .map { $0.split(separator: "|").map { $0[...] } }
    }

    /// Returns the texts between backquotes.
    static func words(_ text: some StringProtocol) -> [String] {
        String(text).matches(of: /`([^`]+)`/).map { String($0.1) }
    }

    /// Returns the fragments by which Markdown viewers link to the headings of a page.
    static func fragments(of page: String) throws -> Set<String> {
        Set(
            try text(page).matches(of: /(?m)^#+ (.+)$/).map { heading in
                String(heading.1.lowercased().filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" })
                    .split(separator: " ", omittingEmptySubsequences: false).joined(separator: "-")
            })
    }
}
