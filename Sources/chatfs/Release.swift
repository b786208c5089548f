import CRelease

/// The version of the program.
enum Release {
    static let version = "0.1.0"

    /// Lines of `--version --verbose`: commit, compiler and linked libraries.
    static var details: [String] {
        let commit = String(cString: chatfs_release_commit())
        return ["commit \(commit.isEmpty ? "unknown" : commit)", "Swift \(compiler)"]
            + libraries.map { "\($0.name) \($0.version)" }
    }

    private static var libraries: [(name: String, version: String)] {
        [
            ("libfuse", chatfs_release_fuse()), ("OpenSSL", chatfs_release_openssl()),
            ("libsodium", chatfs_release_sodium()), ("nghttp2", chatfs_release_nghttp2()),
            ("SQLite", chatfs_release_sqlite()), ("glibc", chatfs_release_glibc()),
        ].map { ($0.0, $0.1.map { String(cString: $0) } ?? "unknown") }
    }

    private static var compiler: String {
        #if compiler(>=6.4)
            "6.4 or later"
        #elseif compiler(>=6.3)
            "6.3"
        #else
            "6.2"
        #endif
    }
}
