import Base

/// Selects the mount of a command: the named one, else the one that contains the current directory, else the only one.
/// A pure value.
struct MountChoice {
    struct Candidate: Hashable, Sendable {
        /// Absolute path of the mountpoint.
        var path: String
        /// Name in the configuration; nil if it has none.
        var name: String?
        /// Name of its profile; nil while unknown.
        var profile: String?
        /// False for a mount of another user.
        var isOwn = true
    }

    enum Outcome: Hashable {
        case chosen(Candidate)
        /// No mount exists.
        case none
        /// The choice is ambiguous.
        case several([Candidate])
        /// The path or name matches no mount.
        case unknown
    }

    var mounts: [Candidate]
    /// Absolute path of the current directory; nil if it has none.
    var folder: String?
    /// False while names of profiles are unknown. A word that may be such a name then chooses no mount that only
    /// contains its path.
    var knowsProfiles = true

    /// Without a word, considers only mounts of this user; a name prefers them.
    /// - Parameters:
    ///   - word: From the command line: a path on a mount, the last component of a mountpoint, or the name of a mount or
    ///     profile.
    ///   - path: The word as an absolute path, if possible.
    func choose(_ word: String?, path: String? = nil) -> Outcome {
        guard let word else {
            let own = mounts.filter(\.isOwn)
            if let folder, let found = Self.mount(over: folder, among: own) { return .chosen(found) }
            return outcome(own, where: .none)
        }
        if let path, let found = mounts.first(where: { $0.path == path }) { return .chosen(found) }
        // Below a mount, each word is also the path of a possible entry.
        let named = mounts.filter { Self.names(of: $0).contains(word) }
        if !named.isEmpty {
            let own = named.filter(\.isOwn)
            return outcome(own.isEmpty ? named : own, where: .unknown)
        }
        if let path, knowsProfiles || !Self.mayBeName(word), let found = Self.mount(over: path, among: mounts)
        {
            return .chosen(found)
        }
        return .unknown
    }

    /// Returns false for a word that can only be a path.
    static func mayBeName(_ word: String) -> Bool {
        !word.utf8.contains(UInt8(ascii: "/")) && ![".", ".."].contains(word)
    }

    /// Names accepted by `choose`.
    var names: [String] { mounts.flatMap(Self.names) }

    private static func names(of mount: Candidate) -> [String] {
        [mount.path.lastPathName, mount.name, mount.profile].compactMap(\.self)
    }

    private func outcome(_ found: [Candidate], where missing: Outcome) -> Outcome {
        guard let first = found.first else { return missing }
        return found.count == 1 ? .chosen(first) : .several(found)
    }

    /// Returns the innermost mount that contains the path.
    private static func mount(over path: String, among mounts: [Candidate]) -> Candidate? {
        mounts.filter { path.path(below: $0.path) != nil }.max { $0.path.utf8.count < $1.path.utf8.count }
    }
}
