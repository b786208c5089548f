import Base
import CommandLineKit
import Desktop
import FileSystem
import Fuse
import Glibc
import Posix

extension Mounted {
    /// Returns the mount of a command (`MountChoice`): from `--mount`, its argument, the current directory, or the only
    /// one. Waits at most five seconds for mounts to report their profiles' names.
    /// - Parameter argument: The command's argument for a mount; nil if it has none.
    /// - Throws: `.notMounted`, `Refusal` for an ambiguous choice, `UsageError` for both an option and an argument.
    static func chosen(by invocation: Invocation, argument: Argument<String?>? = CommonOptions.mountpoint)
        async throws -> Mounted
    {
        let argument = argument.flatMap { invocation[$0] }
        if argument != nil, invocation[CommonOptions.mount] != nil {
            throw UsageError("give the mount once: as an argument or with --mount")
        }
        return try await chosen(invocation[CommonOptions.mount] ?? argument)
    }

    /// - Parameter word: A path or a name; nil for the default.
    /// - Throws: As for an invocation.
    static func chosen(_ word: String?) async throws -> Mounted {
        let found = await ThreadPool.shared.run { () -> Result<Mounted, any Error> in
            Result { try usual(word) }
        }
        guard case .failure(let error) = found, let word, MountChoice.mayBeName(word) else {
            return try found.get()
        }
        // Mounts are queried only if no mountpoint matches, because a mount may be unresponsive.
        let (mounts, path) = try await ThreadPool.shared.run { () throws(DesktopError) in
            (try all(), try? Mountpoint.absolutePath(of: word))
        }
        var named = await ThreadPool.shared.run { candidates(mounts) }
        for (index, (_, answer)) in await answers(of: mounts).enumerated() {
            guard case .status(let bytes) = answer else { continue }
            named[index].profile = MountStatus.decoded(bytes)?.profile
        }
        let choice = MountChoice(mounts: named, folder: nil)
        switch choice.choose(word, path: path) {
        case .chosen(let candidate):
            if let mounted = mounts.first(where: { $0.mountpoint == candidate.path }) { return mounted }
            throw error
        case .several(let several): throw refusal(several)
        case .none, .unknown:
            let nearest = Suggestion.text(for: word, among: choice.names)
            guard !nearest.isEmpty else { throw error }
            throw DesktopError(.notMounted, "There is no mount \(word)" + nearest)
        }
    }

    /// Chooses without querying mounts for profile names. Blocks briefly.
    static func usual(_ word: String?) throws -> Mounted {
        var choice = MountChoice(mounts: candidates(try all()), folder: currentFolder())
        choice.knowsProfiles = false
        let path: String?
        if let word, !MountChoice.mayBeName(word) {
            path = try Mountpoint.absolutePath(of: word)
        } else {
            // The current directory may be on a dead mount.
            path = word.flatMap { try? Mountpoint.absolutePath(of: $0) }
        }
        var outcome = choice.choose(word, path: path)
        if word == nil, case .several = outcome {
            // Queries the mounts, so only for an open choice.
            let living = Set(try own().map(\.mountpoint))
            choice.mounts.removeAll { !living.contains($0.path) }
            outcome = choice.choose(nil)
        }
        switch outcome {
        case .chosen(let candidate):
            // Reports a mount on top of it.
            return try at(candidate.path)
        case .none: throw DesktopError(.notMounted, "No ChatFS mount exists; 'chatfs mount' makes one.")
        case .several(let several): throw refusal(several)
        case .unknown: return try at(path ?? word ?? "")
        }
    }

    /// Returns the mounts in the same order, with their names in the configuration. Blocks briefly.
    private static func candidates(_ mounts: [Mounted]) -> [MountChoice.Candidate] {
        // An invalid file is reported by other commands.
        let configured = (try? ConfigurationAccess.read())?.mounts ?? []
        let places = configured.map { (try? Mountpoint.absolutePath(of: $0.mountpoint)) ?? $0.mountpoint }
        return mounts.map { mounted in
            MountChoice.Candidate(
                path: mounted.mountpoint,
                name: places.firstIndex(of: mounted.mountpoint).map { configured[$0].name },
                isOwn: mounted.mount.user == nil || mounted.mount.user == geteuid())
        }
    }

    private static func refusal(_ mounts: [MountChoice.Candidate]) -> Refusal {
        Refusal(
            "There are several mounts: choose one of \(mounts.map(\.path).joined(separator: ", ")) with --mount, or change into it."
        )
    }

    /// Returns nil if the directory has no path.
    private static func currentFolder() -> String? {
        guard let path = getcwd(nil, 0) else { return nil }
        defer { free(path) }
        let text = String(cString: path)
        return text.isAbsolutePath ? text : nil
    }
}
