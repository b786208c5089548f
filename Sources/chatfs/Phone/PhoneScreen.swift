import Base
import CommandLineKit
import Network
import OfficialCore
import Posix
import RemoteControl

/// Shows the state of a phone on the terminal and in the log. Thread-safe.
final class PhoneScreen: Sendable {
    private struct State {
        var isFirstWait = true
        /// True if a phone has connected since the last link.
        var hasConnected = false
        var hint: Task<Void, Never>?
    }

    private let name: String
    private let display: LinkDisplay
    private let isAnnounced: Bool
    private let state = Lock(State())

    /// Wait for a phone before the hint about firewalls.
    private static let untilHint = Duration.seconds(60)

    /// - Parameter isAnnounced: False if a known phone needs each link.
    init(name: String, display: LinkDisplay, isAnnounced: Bool) {
        (self.name, self.display, self.isAnnounced) = (name, display, isAnnounced)
    }

    func show(_ event: PhoneEvent) {
        switch event {
        case .waiting(let link, let endpoint, let isKnown): wait(link, endpoint, isKnown)
        case .code(let code):
            note()
            for line in Self.words(of: code, from: name) { Terminal.print(line) }
        case .connected(let device):
            note()
            Terminal.note("\(PrintableText.escaping(device)) is connected.")
            log.information("phone connected")
        case .left(let sentence):
            // The core logs it as a lost connection.
            Terminal.note(sentence)
        case .failed(let sentence):
            // Standard error is the log of a mount in the foreground.
            log.warning("waiting for the phone failed: error=\(sentence)")
        }
    }

    private var log: Log { Log("phone") }

    /// Records a connection and cancels the hint.
    private func note() {
        state.withLock { state in
            state.hasConnected = true
            state.hint?.cancel()
        }
    }

    private func wait(_ link: String, _ endpoint: Endpoint, _ isKnown: Bool) {
        let isFirst = state.withLock { state in
            defer { (state.isFirstWait, state.hasConnected) = (false, false) }
            return state.isFirstWait
        }
        // A known phone finds the later links of a mount by itself, unless its network blocks multicast.
        if !isFirst, isKnown, isAnnounced {
            do {
                try Terminal.deliver(link)
            } catch {
                log.warning("link not shown: error=\(sentence(of: error))")
            }
            return
        }
        for line in isKnown ? Self.next(name) : Self.first { Terminal.note(line) }
        let hint = Task { [display] in
            do {
                try await display.show(link, isLater: !isFirst)
            } catch {
                Log("phone").warning("link not shown: error=\(sentence(of: error))")
            }
            // A known phone is away most of the time and needs no hint.
            guard !isKnown, (try? await Task.sleep(for: Self.untilHint)) != nil else { return }
            for line in Self.hint(endpoint) { Terminal.complain(line) }
        }
        state.withLock { state in
            state.hint?.cancel()
            state.hint = hint
        }
    }

    // MARK: - Texts

    private static let first = [
        "Connect your phone: it and this computer must be in the same network.",
        "  Android: open SimpleX, tap your picture, then “Use from desktop”, and scan the code.",
        "  iPhone:  the same; allow the local network when you are asked.",
        "Keep SimpleX open on the phone while you use its chats here.",
    ]

    private static func next(_ name: String) -> [String] {
        [
            "Open SimpleX on “\(PrintableText.escaping(name))”, tap your picture, then “Use from desktop”. In the same "
                + "network it finds this computer by itself; otherwise scan the code or paste the link."
        ]
    }

    private static func hint(_ endpoint: Endpoint) -> [String] {
        [
            "chatfs: No phone has connected yet. A firewall must admit TCP port \(endpoint.port):",
            "chatfs:   sudo ufw allow \(endpoint.port)/tcp",
            "chatfs:   sudo firewall-cmd --add-port=\(endpoint.port)/tcp",
            "chatfs: Another network or a VPN needs --listen or --host. If the phone says that the version is "
                + "incompatible, see --versions.",
        ]
    }

    /// Returns the code's four groups in large digits, with instructions.
    /// - Parameter name: The name of the phone here.
    static func words(of code: SessionCode, from name: String) -> [String] {
        let groups = Array(code.groups.prefix(4))
        var lines = ["", "The phone shows a code. Compare it with this one:", ""]
        for pair in stride(from: 0, to: groups.count, by: 2) {
            lines += LargeDigits.lines(groups[pair..<min(pair + 2, groups.count)].joined(separator: " "))
            lines.append("")
        }
        return lines + [
            "  \(code.shown)", "",
            "The same? Tap “Connect” on the phone.",
            "Different? Cancel on the phone: another device has scanned the link, or a third",
            "party intercepts the connection. Press Ctrl-C here, then run",
            "chatfs phone forget \(PrintableText.escaping(name)), in case the other device confirms.",
        ]
    }
}

/// Draws digits of five lines, for reading a code from a distance.
enum LargeDigits {
    private static let shapes: [Character: [String]] = [
        "0": ["████", "█  █", "█  █", "█  █", "████"], "1": ["  █ ", " ██ ", "  █ ", "  █ ", " ███"],
        "2": ["████", "   █", "████", "█   ", "████"], "3": ["████", "   █", " ███", "   █", "████"],
        "4": ["█  █", "█  █", "████", "   █", "   █"], "5": ["████", "█   ", "████", "   █", "████"],
        "6": ["████", "█   ", "████", "█  █", "████"], "7": ["████", "   █", "  █ ", " █  ", " █  "],
        "8": ["████", "█  █", "████", "█  █", "████"], "9": ["████", "█  █", "████", "   █", "████"],
        " ": ["   ", "   ", "   ", "   ", "   "],
    ]

    /// Returns five lines; at most 63 columns for two groups of five digits. Uses `#` if the terminal cannot
    /// draw blocks.
    static func lines(_ text: String, drawsBlocks: Bool = Terminal.drawsBlocks(1)) -> [String] {
        (0..<5).map { row in
            let line = text.map { shapes[$0]?[row] ?? "" }.joined(separator: "  ")
            return "  " + (drawsBlocks ? line : String(line.map { $0 == "█" ? "#" : $0 }))
        }
    }
}
