import Base
import ChatCore
import Cryptography
import Posix

/// For `HydratedFile`: bytes that are at hand, and waiting for the others.
extension Hydrator {
    func close(_ file: FileID) {
        transact { machine, now in machine.close(file, now: now) }
    }

    func read(
        _ file: FileID, _ range: Range<UInt64>, into buffer: UnsafeMutableRawBufferPointer
    ) -> ImmediateRead {
        let now = now
        let (place, content, generation, actions) = shared.withLock { shared in
            let (place, actions) =
                shared.isLeaving ? (.failed(.leaving), []) : shared.machine.locate(file, range, now: now)
            return (
                place, shared.contents[file], shared.machine.entries[file]?.generation ?? 0, actions
            )
        }
        if !actions.isEmpty { carryOut(actions) }
        do {
            switch (place, content) {
            case (.failed(let problem), _): return .failed(problem)
            case (.notYet, _): return .notYet
            case (.whole, .whole(let whole)):
                do {
                    return try whole.read(into: buffer, at: range.lowerBound)
                } catch let error as CryptographyError where error.isDamage {
                    // Whoever reads next has it checked anew, and what is damaged is not served.
                    whole.forgetCheck(verified)
                    transact { machine, _ in machine.outdated(file, generation) }
                    return .notYet
                }
            case (.stream(let start), .chunks(let download)):
                do {
                    if try download.stream.read(into: buffer, at: start) { return .filled(buffer.count) }
                } catch let damage as DamagedChunks {
                    fetchAgain(damage.chunks, of: file, generation, download)
                    return .notYet
                }
                lose(file, generation, download, start..<start + UInt64(buffer.count))
                return .notYet
            case (.whole, _), (.stream, _):
                // Between two steps of a change: the next look finds them in line.
                return .notYet
            }
        } catch {
            return .failed(FileProblem(error))
        }
    }

    func wholeContent(of file: FileID) -> WholeContent? {
        shared.withLock { shared in
            guard case .whole(let whole) = shared.contents[file] else { return nil }
            return whole
        }
    }

    func wholePlainFile(of file: FileID) -> OpenFile? {
        guard case .copy(let copy) = wholeContent(of: file) else { return nil }
        return copy.file
    }

    /// Waits until what is wanted is at hand or cannot be had.
    func wait(for file: FileID, _ goal: HydrationMachine.Goal, patience: Duration) async -> WaitOutcome {
        let number = shared.withLock { $0.number() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isLeaving = shared.withLock { shared in
                    if !shared.isLeaving { shared.waiters[number] = continuation }
                    return shared.isLeaving
                }
                if isLeaving { return continuation.resume(returning: .failed(.leaving)) }
                transact { machine, now in
                    machine.wait(number, file, for: goal, patience: patience, now: now)
                }
                if Task.isCancelled { giveUp(number, file) }
            }
        } onCancel: {
            giveUp(number, file)
        }
    }

    private func giveUp(_ waiter: HydrationMachine.WaiterID, _ file: FileID) {
        let continuation = shared.withLock { shared in
            shared.machine.leave(waiter, file)
            return shared.waiters.removeValue(forKey: waiter)
        }
        continuation?.resume(returning: .cancelled)
    }

    /// Parts of a range could not be read back: what is still there of their chunks goes too, and they are
    /// fetched again when somebody wants them. At once, or the reader would be sent to the same place again.
    private func lose(
        _ file: FileID, _ generation: UInt64, _ download: Download, _ range: Range<UInt64>
    ) {
        let chunks = download.stream.layout.chunks(range)
        for chunk in chunks { download.stream.forget(chunk) }
        transact { machine, now in
            for chunk in chunks { machine.lost(file, generation, chunk: chunk) }
            return machine.schedule(now: now) + [.changed(file)]
        }
    }
}
