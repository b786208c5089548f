import Cryptography
import EmbeddedCore
import Glibc
import KeySlots
import Posix
import Unlocking

/// The cost of encrypted databases: the same work on encrypted and plain data, alternating.
struct SealedMeasure: Measure {
    let name = "sealed"
    let abstract =
        "encrypted data beside data in clear: first and second start, files copied in"
    let limit = Duration.seconds(1200)

    func take(on stage: Stage) async throws -> [Row] {
        try await starts(on: stage) + copies(on: stage)
    }

    private static let inClear = "not encrypted"

    private func starts(on stage: Stage) async throws -> [Row] {
        let (files, chats) = stage.plan.isQuick ? (10_000, 100) : (100_000, 1000)
        var (first, second) = (SampleTable(subjects: 2), SampleTable(subjects: 2))
        for repetition in 0..<stage.plan.repetitions {
            for (place, key) in [try await newKey(repetition, on: stage), nil].enumerated() {
                let name = "data-sealed-\(repetition)-\(place)"
                let history = try await History.write(
                    files: files, chats: chats, in: name, key: key, on: stage)
                try await stage.settle()
                let start = ContinuousClock.now
                try await history.listEverything()
                first.add((ContinuousClock.now - start) / .milliseconds(1), of: place)
                second.add(try await history.timeToStart(), of: place)
                try await stage.remove(name)
            }
        }
        return [
            Row(
                "sealed-first-start", "first start with \(files) files, until all are listed", .milliseconds,
                first[0], beside: Reference(Self.inClear, first[1]), target: .ratioAtMost(1.3)),
            Row(
                "sealed-second-start", "second start with \(files) files, until a chat is listed",
                .milliseconds, second[0], beside: Reference(Self.inClear, second[1]),
                target: .ratioAtMost(1.3)),
        ]
    }

    /// In a new data directory, which opens with the stage's credential.
    private func newKey(_ repetition: Int, on stage: Stage) async throws -> SecretBytes? {
        let path = stage.path("data-sealed-\(repetition)-0")
        let credential = stage.path("credentials/chatfs.key")
        return try await ThreadPool.shared.run {
            let folder = KeyedFolder(path: path, database: DataDirectory.databaseFile)
            let secret = try UnlockingSecret.key(from: OpenFile(credential, flags: O_RDONLY))
            return try folder.make(with: Ways(named: secret)) { try DataDirectory.makeFolder(path) }?.dataKey
        }
    }

    private func copies(on stage: Stage) async throws -> [Row] {
        let count = stage.plan.isQuick ? 200 : 1000
        var times = SampleTable(subjects: 2)
        var mounts: [Mounted] = []
        for (place, isEncrypted) in [true, false].enumerated() {
            let chats = try await Chats.make(
                ["alice-\(place)", "bob-\(place)"], in: "data-copies-\(place)", encrypted: isEncrypted,
                on: stage)
            mounts.append(try await chats.mount("alice-\(place)", relays: []))
        }
        for repetition in 0..<stage.plan.repetitions {
            for (place, mount) in mounts.enumerated() {
                try await stage.settle()
                let start = ContinuousClock.now
                try await NameWork.fill(mount.inGroup(""), count: count, size: 4096, named: "\(repetition)-")
                times.add((ContinuousClock.now - start) / .milliseconds(1), of: place)
                let last = mount.inGroup("\(repetition)-\(count - 1).txt")
                try await stage.wait(for: "the last file to be sent") {
                    access(last, F_OK) == 0
                        ? try ExtendedAttribute.text("user.chatfs.state", of: last) == "sent" : false
                }
            }
        }
        return [
            Row(
                "sealed-copies", "copying in \(count) files of 4 KiB", .milliseconds, times[0],
                beside: Reference(Self.inClear, times[1]), target: .ratioAtMost(1.2))
        ]
    }
}
