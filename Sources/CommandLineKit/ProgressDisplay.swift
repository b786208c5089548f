import Base
import Glibc

/// Shows a transfer's progress on standard error: a bar on a terminal, or a plain line at every tenth on a terminal
/// that cannot redraw. Shows nothing in a pipe or a log unless `--verbose` is given, and nothing with `--quiet`.
/// Thread-safe.
public final class ProgressDisplay: Sendable {
    private struct State {
        var shownTenth = -1
        var lastDraw: ContinuousClock.Instant?
        var isDrawn = false
    }

    private let title: String
    private let descriptor: Int32
    private let width: Int?
    private let isShown: Bool
    private let start = ContinuousClock.now
    private let state = Lock(State())

    /// - Parameter title: Leading text, such as "Sending".
    public convenience init(_ title: String, descriptor: Int32 = STDERR_FILENO) {
        self.init(title, descriptor: descriptor, verbosity: Terminal.verbosity)
    }

    init(_ title: String, descriptor: Int32, verbosity: Verbosity) {
        self.title = title
        self.descriptor = descriptor
        width = Terminal.canRedraw(descriptor) ? Terminal.width(of: descriptor) : nil
        let least: Verbosity = Terminal.isTerminal(descriptor) ? .normal : .verbose
        isShown = verbosity >= least
    }

    /// Updates the display, on a terminal at most ten times a second. `done` and `total` are in bytes.
    public func update(done: UInt64, total: UInt64) {
        guard isShown else { return }
        let now = ContinuousClock.now
        let tenth = Int(Self.share(done, total) * 10)
        let isDue = state.withLock { state -> Bool in
            if width != nil {
                if let last = state.lastDraw, now - last < .milliseconds(100), done < total { return false }
                state.lastDraw = now
                state.isDrawn = true
                return true
            }
            defer { state.shownTenth = max(tenth, state.shownTenth) }
            return tenth > state.shownTenth
        }
        guard isDue else { return }
        let line = Self.line(title, done: done, total: total, elapsed: now - start, width: width)
        Terminal.write(width == nil ? line + "\n" : "\r\u{1B}[K" + line, to: descriptor)
    }

    /// Ends the bar's line, so that further text starts a new one.
    public func finish() {
        let isDrawn = state.withLock { state -> Bool in
            defer { state.isDrawn = false }
            return state.isDrawn
        }
        if isDrawn { Terminal.write("\n", to: descriptor) }
    }

    /// Formats one line: with a bar if there is a width, plain otherwise.
    static func line(
        _ title: String, done: UInt64, total: UInt64, elapsed: Duration, width: Int?
    ) -> String {
        let share = share(done, total)
        let seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
        let speed =
            seconds >= 0.1 ? ", \(ByteCount.rounded(UInt64(min(Double(done) / seconds, 1e19))))/s" : ""
        let percent = "\(Int(share * 100))%"
        let amount = "\(ByteCount.rounded(done)) of \(ByteCount.rounded(total))\(speed)"
        guard let width else { return "\(title): \(percent), \(amount)" }
        let cells = width - title.count - amount.count - 12
        guard cells >= 5 else { return String("\(title) \(percent), \(amount)".prefix(width - 1)) }
        let filled = Int(share * Double(cells))
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: cells - filled)
        return "\(title) \(bar) \(String(repeating: " ", count: 4 - percent.count))\(percent)  \(amount)"
    }

    /// Returns the share from 0 to 1. `done` may exceed `total`.
    private static func share(_ done: UInt64, _ total: UInt64) -> Double {
        total == 0 ? 1 : min(1, Double(done) / Double(total))
    }
}
