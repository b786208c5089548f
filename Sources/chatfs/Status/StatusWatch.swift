import Base
import CommandLineKit
import Desktop
import FileSystem
import Glibc
import Posix

/// `chatfs status --watch`: prints the status of mounts after each change.
struct StatusWatch: Sendable {
    /// Minimum interval between two outputs.
    private static let pause = Duration.seconds(1)

    let mounts: [Mounted]
    let isForPrograms: Bool
    let stop: StopRequest

    /// Returns all mounts of this user that answer, and reports the others.
    /// - Throws: `.notMounted` without any.
    static func all() async throws -> [Mounted] {
        var mounts: [Mounted] = []
        let all = try await ThreadPool.shared.run { () throws(DesktopError) in try Mounted.all() }
        for (mounted, answer) in await Mounted.answers(of: all) {
            if answer == .foreign { continue }
            guard let complaint = StatusLines.complaint(answer, mounted) else {
                mounts.append(mounted)
                continue
            }
            Terminal.complain("chatfs: \(complaint)")
        }
        guard !mounts.isEmpty else {
            throw DesktopError(.notMounted, "No ChatFS mount answers; 'chatfs mount' makes one.")
        }
        return mounts
    }

    /// Returns when all mounts have ended, or the output is closed.
    /// - Throws: `ExitCode` after a stop request.
    func run() async throws {
        var open: [(mounted: Mounted, client: ControlClient)] = []
        var rates: [Mounted: TransferRate] = [:]
        let beginning = ContinuousClock.now
        for mounted in mounts {
            let client = try await ProgramConnection.client(of: mounted)
            try await ThreadPool.shared.run { try client.subscribe() }
            open.append((mounted, client))
        }
        while true {
            var shown: [(mounted: Mounted, bytes: [UInt8])] = []
            for (mounted, _) in open {
                if case .status(let bytes) = await mounted.answer() { shown.append((mounted, bytes)) }
            }
            let ended = open.filter { one in !shown.contains { $0.mounted == one.mounted } }
            for one in ended { tellEnd(of: one.mounted) }
            open.removeAll { one in ended.contains { $0.mounted == one.mounted } }
            guard !open.isEmpty else { return }
            let time = ContinuousClock.now - beginning
            var shownRates: [Mounted: UInt64] = [:]
            for (mounted, bytes) in shown {
                let transfers = MountStatus.decoded(bytes)?.transfers ?? []
                shownRates[mounted] = rates[mounted, default: TransferRate()].add(transfers, at: time)
            }
            try show(shown, shownRates)
            guard let gone = try await change(in: open) else {
                if !stop.isRequested { return }
                throw ExitCode(128 + (await stop.wait()))
            }
            for mounted in gone { tellEnd(of: mounted) }
            open.removeAll { gone.contains($0.mounted) }
            guard !open.isEmpty else { return }
            // A stop request ends the pause.
            _ = try await stop.interrupting { try await Task.sleep(for: Self.pause) }
        }
    }

    /// Waits for a change in one of the mounts.
    /// - Returns: Mounts that have ended meanwhile; nil after a stop request, or if the output is closed.
    private func change(
        in open: [(mounted: Mounted, client: ControlClient)]
    ) async throws -> Set<Mounted>? {
        let clients = open
        let stop = stop
        return try await ThreadPool.shared.run { () throws(any Error) in
            let single = clients.count == 1
            while !stop.isRequested, !Terminal.hasLostItsReader {
                var (isChanged, ended) = (false, Set<Mounted>())
                for (mounted, client) in clients {
                    do throws(DesktopError) {
                        // Several mounts are polled in turn.
                        if try client.hasEvent(within: single ? .milliseconds(500) : .milliseconds(100)) {
                            try client.dropEvents()
                            isChanged = true
                        }
                    } catch {
                        guard error.code == .noAnswer else { throw error }
                        ended.insert(mounted)
                    }
                }
                if isChanged || !ended.isEmpty { return ended }
            }
            return nil
        }
    }

    private func show(
        _ shown: [(mounted: Mounted, bytes: [UInt8])], _ rates: [Mounted: UInt64]
    ) throws {
        if isForPrograms {
            for (_, bytes) in shown {
                try Terminal.show(try MountStatus.decoded(bytes).map(JSONLine.encoded) ?? "{}")
            }
            return
        }
        let blocks = shown.map {
            StatusLines.lines($0.bytes, of: $0.mounted, rate: rates[$0.mounted]).map(PrintableText.escaping)
        }
        guard Terminal.canRedraw(STDOUT_FILENO) else {
            for line in blocks.joined() { try Terminal.show(line) }
            return try Terminal.show("")
        }
        let screen = Screen(width: Terminal.width(), height: Terminal.height())
        try Terminal.show(Screen.frame(screen.fit(blocks)), end: "")
    }

    private func tellEnd(of mounted: Mounted) {
        Terminal.note("chatfs: the mount at \(mounted.mountpoint) has ended")
    }
}
