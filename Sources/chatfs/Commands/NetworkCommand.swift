import ChatCore
import CommandLineKit
import EmbeddedCore
import Network
import Posix

/// `chatfs network`: network settings of a profile.
enum NetworkCommand {
    static let command = Command(
        "network", "Choose how a profile reaches the network: proxy, private routing, receipts.",
        section: CommandSection.chats, subcommands: [show, set])

    private static let show = Command(
        "show", "Print what was chosen.",
        options: [CommonOptions.profile, CommonOptions.mount, json] + CommonOptions.directory
    ) { invocation in
        let choice = try await invocation.withProfile { directory, profile throws(ChatError) in
            try directory.networkChoice(of: profile)
        }
        print(choice, asJSON: invocation.has("json"))
    }

    private static let set = Command(
        "set", "Change what is named; the rest stays.",
        discussion: """
            Proxy and routing count from the next time the profile is mounted or used, receipts at once.

            With a SOCKS proxy everything goes through it, names of servers included, and each profile by a way of its \
            own where the proxy can do that (Tor: IsolateSOCKSAuth, its default). Nothing is ever reached past it.

            With private routing, messages to servers that are not yours are handed to one of yours, which hands them \
            on: the servers of others do not see where you are, and yours does not see what is in them.
            """,
        options: [
            .value(
                "socks-proxy", named: "HOST:PORT", .text,
                "Reach all servers and relays through this SOCKS5 proxy; 'off': directly."),
            .value(
                "private-routing", named: "WHEN", .choice(NetworkChoice.Routing.allCases.map(\.rawValue)),
                "For which servers of others: never (the default), unknown (not among yours), always."),
            .value(
                "routing-fallback", named: "WHEN", .choice(NetworkChoice.Fallback.allCases.map(\.rawValue)),
                "When a server is asked directly because none of yours hands on: never, protected (where there is a "
                    + "proxy; the default), always."),
            .value(
                "receipts", named: "ON|OFF", .choice(["on", "off"]),
                "Whether contacts are notified that their messages have arrived; on at first."),
            CommonOptions.profile, CommonOptions.mount, json,
        ] + CommonOptions.directory,
        examples: [
            Example("chatfs network set --socks-proxy 127.0.0.1:9050", "Through Tor."),
            Example("chatfs network set --private-routing unknown", "As the official programs do."),
        ]
    ) { invocation in
        let change = try Change(invocation)
        let choice = try await invocation.withProfile { directory, profile throws(ChatError) in
            var choice = try directory.networkChoice(of: profile)
            change.apply(to: &choice)
            try directory.setNetworkChoice(choice, of: profile)
            return choice
        }
        print(choice, asJSON: invocation.has("json"))
    }

    private static let json = Option.flag("json", "Print it as JSON.")

    /// The settings given on the command line.
    private struct Change: Sendable {
        /// nil keeps the setting; `.some(nil)` removes the proxy.
        var proxy: Endpoint??
        var routing: NetworkChoice.Routing?
        var fallback: NetworkChoice.Fallback?
        var sendsReceipts: Bool?

        init(_ invocation: Invocation) throws(UsageError) {
            if let text = invocation["socks-proxy"] {
                if text == "off" {
                    proxy = .some(nil)
                } else if let endpoint = Endpoint(text), endpoint.port > 0 {
                    proxy = endpoint
                } else {
                    throw UsageError("--socks-proxy takes HOST:PORT, for example 127.0.0.1:9050, or off")
                }
            }
            routing = invocation["private-routing"].flatMap { NetworkChoice.Routing(rawValue: $0) }
            fallback = invocation["routing-fallback"].flatMap { NetworkChoice.Fallback(rawValue: $0) }
            sendsReceipts = invocation["receipts"].map { $0 == "on" }
            guard proxy == nil, routing == nil, fallback == nil, sendsReceipts == nil else { return }
            throw UsageError(
                "name what to change: --socks-proxy, --private-routing, --routing-fallback or --receipts")
        }

        func apply(to choice: inout NetworkChoice) {
            if let proxy { choice.proxy = proxy }
            if let routing { choice.routing = routing }
            if let fallback { choice.fallback = fallback }
            if let sendsReceipts { choice.sendsReceipts = sendsReceipts }
        }
    }

    private static func print(_ choice: NetworkChoice, asJSON: Bool) {
        let rows = [
            (name: "socks-proxy", value: choice.proxy?.description ?? "off"),
            (name: "private-routing", value: choice.routing.rawValue),
            (name: "routing-fallback", value: choice.fallback.rawValue),
            (name: "receipts", value: choice.sendsReceipts ? "on" : "off"),
        ]
        if asJSON { return Terminal.print(JSONLine.object(rows)) }
        for row in rows { Terminal.print("\(row.name) \(row.value)") }
    }
}
