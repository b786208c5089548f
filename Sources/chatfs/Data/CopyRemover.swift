import ChatCore
import Desktop
import EmbeddedCore
import Glibc
import Hydration
import Posix

/// Deletes local copies of files whose messages stay, through the daemon of the profile's mount or a core of this
/// process.
struct CopyRemover: Sendable {
    let directory: DataDirectory
    let profile: Profile

    /// - Parameter lastCopies: True to also delete files that no relay has.
    /// - Returns: The number of deleted copies and their bytes. Idempotent.
    func free(_ files: [ChatFile], lastCopies: Bool) async throws -> (count: Int, bytes: UInt64) {
        guard !files.isEmpty else { return (0, 0) }
        let own = try await ThreadPool.shared.run { [directory, profile] () throws(ChatError) in
            try directory.folders(of: profile).own
        }
        let daemon = try await ThreadPool.shared.run { () throws(DesktopError) in
            try ControlClient.connect(profileFolder: own)
        }
        let requests = stride(from: 0, to: files.count, by: FreeRequest.maxFiles).map { start in
            FreeRequest(
                files[start..<min(start + FreeRequest.maxFiles, files.count)].map(\.id),
                lastCopies: lastCopies)
        }
        let answer: [FileID]
        if let daemon {
            answer = try await Self.ask(daemon, requests)
        } else {
            answer = try await carryOut(requests)
        }
        let freed = Set(answer)
        let bytes = files.lazy.filter { freed.contains($0.id) }.map(\.size).saturatingSum
        return (freed.count, bytes)
    }

    private static func ask(_ daemon: ControlClient, _ requests: [FreeRequest]) async throws -> [FileID] {
        try await ThreadPool.shared.run { () throws(DesktopError) in
            var freed: [FileID] = []
            for request in requests { freed += try daemon.ask(request).map { FileID($0) } }
            return freed
        }
    }

    private func carryOut(_ requests: [FreeRequest]) async throws -> [FileID] {
        let settings = CoreSettings(
            profile: profile.displayName, directory: DirectoryAccess(unlocked: directory), core: .embedded)
        let core = try await MountedCore.open(settings)
        return try await concluding(with: core.shutDown) { try await Self.ask(core, requests) }
    }

    private static func ask(_ core: MountedCore, _ requests: [FreeRequest]) async throws -> [FileID] {
        let pinned = try await ThreadPool.shared.run {
            try RetentionList(in: OpenFile(core.folder, flags: O_RDONLY)).pinnedBefore
        }
        var freed: [FileID] = []
        for request in requests {
            // Pinned files stay local.
            freed += try await core.answer(request.sparing(pinned.contains)).map { FileID($0) }
        }
        return freed
    }
}
