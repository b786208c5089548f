import Base
import ChatCore

/// What the tasks find and leave behind under the lock: the state of an attempt and its content.
extension Hydrator {
    func withMachine<Result>(_ body: (HydrationMachine) -> Result) -> Result {
        shared.withLock { body($0.machine) }
    }

    /// The streams of all downloads.
    func streams() -> [(file: FileID, generation: UInt64, stream: CachedStream)] {
        shared.withLock { shared in
            shared.contents.compactMap { file, content in
                guard case .chunks(let download) = content, let entry = shared.machine.entries[file] else {
                    return nil
                }
                return (file, entry.generation, download.stream)
            }
        }
    }

    /// Where the content begins in the stream of a download.
    func contentOffset(of file: FileID) -> UInt64? {
        withMachine { machine in
            guard case .chunks(let download) = machine.entries[file]?.phase else { return nil }
            return download.contentOffset
        }
    }

    /// The attempt whose stored copy is not the one any more that was checked; nil when all is well. Asks the
    /// disk at most once, under no lock.
    func outdatedGeneration(of file: FileID) -> UInt64? {
        let (content, generation) = shared.withLock { shared in
            (shared.contents[file], shared.machine.entries[file]?.generation)
        }
        guard case .whole(let whole) = content, !whole.isUnchanged else { return nil }
        return generation
    }

    /// The item as it stands and its content, when the attempt is still the present one.
    func state(of file: FileID, _ generation: UInt64) -> (item: ChatItem, file: ChatFile, content: Content?)?
    {
        shared.withLock { shared in
            guard let entry = shared.machine.entries[file], entry.generation == generation else { return nil }
            return (entry.item, entry.file, shared.contents[file])
        }
    }

    /// Puts content in place together with the step that makes it visible. False: the attempt is over.
    func install(
        _ content: Content?, for file: FileID, _ generation: UInt64,
        _ step: (inout HydrationMachine, Duration) -> [HydrationMachine.Action]
    ) -> Bool {
        var released: Content?
        let isPresent = shared.withLock { shared in
            guard !shared.isLeaving, shared.machine.entries[file]?.generation == generation else {
                return false
            }
            if let content {
                released = shared.contents.updateValue(content, forKey: file)
            }
            return true
        }
        withExtendedLifetime(released) {}
        if isPresent { transact(step) }
        return isPresent
    }
}
