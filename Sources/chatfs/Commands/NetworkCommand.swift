import ChatCore
import CommandLineKit
import EmbeddedCore
import Network
import Posix

/// `chatfs network`: network settings of a profile.
enum NetworkCommand {
    private static let proxy = Option(
        "socks-proxy", named: "HOST:PORT", .text,
        "Connect to all servers and relays through this SOCKS5 proxy; 'off': directly.")
    private static let routing = Option(
        "private-routing", named: "WHEN", .choice(NetworkChoice.Routing.self),
        "For which servers of others to forward: never (the default), unknown (not among yours), always.")
    private static let fallback = Option(
        "routing-fallback", named: "WHEN", .choice(NetworkChoice.Fallback.self),
        "When to connect directly if none of your servers forwards: never, protected (only with a "
            + "proxy; the default), always.")
    private static let receipts = Option(
        "receipts", named: "ON|OFF", .either("on", "off"),
        "Whether to send delivery receipts to contacts; initially on.")
    private static let json = Option.flag("json", "Print it as JSON.")

    static let command = Command(
        "network", "Choose how a profile reaches the network: proxy, private routing, receipts.",
        section: CommandSection.chats, subcommands: [show, set])

    private static let show = Command(
        "show", "Print the network settings.",
        options: [CommonOptions.profile, CommonOptions.mount, json] + CommonOptions.directory
    ) { invocation in
        let choice = try await invocation.withProfile { directory, profile throws(ChatError) in
            try directory.networkChoice(of: profile)
        }
        print(choice, asJSON: invocation[json])
    }

    private static let set = Command(
        "set", "Change network settings; others stay unchanged.",
        discussion: """
            Proxy and routing take effect when the profile is next mounted or used, receipts at once.

            All connections use the SOCKS proxy, which also resolves server names. Each profile has its own \
            credentials, so that Tor gives it separate circuits (IsolateSOCKSAuth, its default). No connection \
            bypasses the proxy.

            With private routing, one of your servers forwards messages to servers of others. Their servers do not see \
            your address, and your server cannot read the messages.
            """,
        options: [
            proxy, routing, fallback, receipts, CommonOptions.profile, CommonOptions.mount, json,
        ] + CommonOptions.directory,
        examples: [
            Example("chatfs network set --socks-proxy 127.0.0.1:9050", "Use Tor."),
            Example("chatfs network set --private-routing unknown", "Route like the official programs."),
        ]
    ) { invocation in
        let change = try Change(invocation)
        let choice = try await invocation.withProfile { directory, profile throws(ChatError) in
            var choice = try directory.networkChoice(of: profile)
            change.apply(to: &choice)
            try directory.setNetworkChoice(choice, of: profile)
            return choice
        }
        print(choice, asJSON: invocation[json])
    }

    /// The settings given on the command line.
    private struct Change: Sendable {
        /// nil keeps the setting; `.some(nil)` removes the proxy.
        var proxy: Endpoint??
        var routing: NetworkChoice.Routing?
        var fallback: NetworkChoice.Fallback?
        var sendsReceipts: Bool?

        init(_ invocation: Invocation) throws(UsageError) {
            if let text = invocation[NetworkCommand.proxy] {
                if text == "off" {
                    proxy = .some(nil)
                } else if let endpoint = Endpoint(text), endpoint.port > 0 {
                    proxy = endpoint
                } else {
                    throw UsageError("--socks-proxy takes HOST:PORT, for example 127.0.0.1:9050, or off")
                }
            }
            routing = invocation[NetworkCommand.routing]
            fallback = invocation[NetworkCommand.fallback]
            sendsReceipts = invocation[receipts]
            guard proxy == nil, routing == nil, fallback == nil, sendsReceipts == nil else { return }
            throw UsageError(
                "nothing to change: give --socks-proxy, --private-routing, --routing-fallback or --receipts")
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
