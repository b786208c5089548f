import Base

/// Which mount a command means: the one that was named, else the one in which the current folder lies, else the only one.
/// A value without input and output.
struct MountChoice {
    struct Candidate: Hashable, Sendable {
        /// The mountpoint, absolute.
        var path: String
        /// The name of its profile; nil while nobody has asked for it.
        var profile: String?
    }

    enum Outcome: Hashable {
        case chosen(Candidate)
        /// Nothing is mounted.
        case none
        /// Several are, and nothing says which.
        case several([Candidate])
        /// A path or name that fits none.
        case unknown
    }

    var mounts: [Candidate]
    /// The current folder, absolute; nil where it has no path.
    var folder: String?

    /// - Parameters:
    ///   - word: of the command line: a path on a mount, the last name of a mountpoint, or the name of a profile.
    ///   - path: the same as an absolute path, if it can be one.
    func choose(_ word: String?, path: String? = nil) -> Outcome {
        guard let word else {
            if let folder, let found = mount(over: folder) { return .chosen(found) }
            return outcome(mounts, where: .none)
        }
        if let path, let found = mount(over: path) { return .chosen(found) }
        let named = mounts.filter { $0.path.lastPathName == word || $0.profile == word }
        return outcome(named, where: .unknown)
    }

    /// Names that `choose` takes.
    var names: [String] {
        mounts.flatMap { [$0.path.lastPathName, $0.profile].compactMap { $0 } }
    }

    private func outcome(_ found: [Candidate], where missing: Outcome) -> Outcome {
        guard let first = found.first else { return missing }
        return found.count == 1 ? .chosen(first) : .several(found)
    }

    /// The innermost one.
    private func mount(over path: String) -> Candidate? {
        mounts.filter { path.path(below: $0.path) != nil }.max { $0.path.utf8.count < $1.path.utf8.count }
    }
}
