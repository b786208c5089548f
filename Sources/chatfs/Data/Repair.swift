import Base
import ChatCore
import EmbeddedCore
import Posix
import Verification

/// The work of `chatfs verify` for one profile of any core.
struct Repair: Sendable {
    let access: DirectoryAccess
    let directory: DataDirectory
    let place: VerifiedPlace

    typealias Progress = @Sendable (_ done: UInt64, _ total: UInt64) -> Void

    /// Verifies without changes, also while the profile is mounted.
    func look(progress: @escaping Progress) async throws -> VerificationRecord {
        let verification = try await verification(isAlone: false)
        return try await ThreadPool.shared.run {
            let found = verification.run(progress: progress)
            let record = found.record(at: SystemWallClock().now().seconds)
            try VerificationSummary(record).write(toProfileFolder: verification.folder)
            return record
        }
    }

    /// Sets stray files aside, continues without missing databases, and receives damaged or missing files again if
    /// possible.
    /// - Throws: `.profileInUse` while the profile is mounted.
    func fix(progress: @escaping Progress) async throws -> VerificationRecord {
        let verification = try await verification(isAlone: true)
        var found = try await ThreadPool.shared.run {
            try holding {
                verification.replaceParts(
                    verification.closeExposed(
                        verification.setStraysAside(verification.run(progress: progress))))
            }
        }
        if case .profile(let profile) = place, !found.broken.isEmpty {
            let settings = CoreSettings(profile: profile.displayName, directory: access, core: .embedded)
            let core = try await MountedCore.open(settings)
            for index in found.broken.indices { await Self.mend(&found.broken[index], core.core) }
            await core.shutDown()
        }
        let record = found.record(at: SystemWallClock().now().seconds)
        try await ThreadPool.shared.run { () throws(SystemError) in
            try VerificationSummary(record).write(toProfileFolder: verification.folder)
        }
        return record
    }

    private func holding<Result>(_ body: () throws -> Result) throws -> Result {
        switch place {
        case .profile(let profile): try directory.holding(profile, body)
        case .official(let folder, _):
            try directory.holding(OfficialFolder(name: folder, profiles: []), body)
        }
    }

    private func verification(isAlone: Bool) async throws -> ProfileVerification {
        let (directory, place) = (directory, place)
        return try await ThreadPool.shared.run { () throws(ChatError) in
            try ProfileVerification(of: place, in: directory, isAlone: isAlone)
        }
    }

    /// Replaces a broken copy. The damaged one always stays under another name in `damaged`.
    private static func mend(_ broken: inout ProfileVerification.Broken, _ core: any ChatCore) async {
        guard let file = broken.copy.file else { return }
        do throws(ChatError) {
            switch try await core.giveUpCopy(of: file, at: broken.copy.source) {
            case .offered(let item):
                broken.finding.outcome = .requested
                guard item.file?.source == nil else { return }
                try await core.setFileToReceive(file, approvedRelays: false)
            case .lost(let problem):
                broken.finding.outcome = broken.finding.kind == .missing ? .lost : .setAside
                if broken.finding.outcome == .setAside { broken.finding.detail = problem.sentence }
            }
        } catch {
            // The entry is a placeholder again or unchanged; reads report the same reason.
            broken.finding.detail = error.sentence
        }
    }
}
