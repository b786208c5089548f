import CommandLineKit
import Posix
import SMP
import XFTP

/// A relay of a profile, for messages or for files.
enum AnyRelay: Hashable, Sendable {
    case messages(ServerAddress)
    case files(RelayAddress)

    /// Returns nil if the text is no address.
    init?(_ text: some StringProtocol) {
        if let server = ServerAddress(text) {
            self = .messages(server)
        } else if let relay = RelayAddress(text) {
            self = .files(relay)
        } else {
            return nil
        }
    }

    var isForFiles: Bool { if case .files = self { true } else { false } }

    /// The address without its password.
    var text: String {
        switch self {
        case .messages(let server): server.text
        case .files(let relay): relay.text
        }
    }

    /// Parses arguments; `-` stands for the lines of standard input.
    static func read(_ arguments: [String]) async throws -> [AnyRelay] {
        var relays: [AnyRelay] = []
        for argument in arguments {
            let texts = argument == "-" ? await lines() : [argument]
            relays += try texts.map { text throws(UsageError) in
                guard let relay = AnyRelay(text) else {
                    throw UsageError(
                        "the address of a relay looks like smp://fingerprint@host:port or "
                            + "xftp://fingerprint@host:port")
                }
                return relay
            }
        }
        return relays
    }

    private static func lines() async -> [String] {
        await ThreadPool.shared.run {
            var lines: [String] = []
            while lines.count < 1000, let line = readLine() { if !line.isEmpty { lines.append(line) } }
            return lines
        }
    }
}
