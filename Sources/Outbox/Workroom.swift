import Base
import ChatCore
import Glibc
import Posix

/// What all drafts of an outbox share.
final class Workroom: Sendable {
    let journal: Journal
    let spool: Spool
    let staging: StagingFolder
    let quiet: QuietTime
    let order: SendingOrder
    let clock: any WallClock
    let seen: SeenTime
    /// Largest draft of a contact's or group's chat, in bytes.
    let largestFile: UInt64
    let news = Broadcast<OutboxChange>()
    let followers: Followers
    /// Two KiB or so for each draft.
    let freeMemory = FreeMemory(after: 2048)
    let log = Log("outbox")
    /// Which boot of the machine this is: what was closed in an earlier one and never synchronised may
    /// have lost bytes to a power cut.
    let boot: String

    init(
        journal: Journal, spool: Spool, staging: StagingFolder, quiet: QuietTime, order: SendingOrder,
        clock: any WallClock, seen: SeenTime, largestFile: UInt64, boot: String, followers: Followers
    ) {
        self.journal = journal
        self.spool = spool
        self.staging = staging
        self.quiet = quiet
        self.order = order
        self.clock = clock
        self.seen = seen
        self.largestFile = largestFile
        self.boot = boot
        self.followers = followers
    }

    /// The kernel's id of this boot (proc(5), `/proc/sys/kernel/random/boot_id`); empty where that is not mounted,
    /// and every boot the same then.
    static func currentBoot() -> String {
        guard let file = try? OpenFile("/proc/sys/kernel/random/boot_id", flags: O_RDONLY),
            let bytes = try? file.read(count: 36, at: 0)
        else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The largest draft that `chat` takes, in bytes: local notes have no limit.
    func largestFile(in chat: ChatReference) -> UInt64 {
        if case .notes = chat { return UInt64(Int64.max) }
        return largestFile
    }
}
