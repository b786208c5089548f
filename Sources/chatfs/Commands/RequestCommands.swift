import Base
import ChatCore
import CommandLineKit
import Desktop

/// `chatfs requests` and `chatfs reject`: pending contact requests. `chatfs accept` accepts them.
enum RequestCommands {
    static let requests = Command(
        "requests", "List requests and invitations that wait for your answer.",
        discussion: """
            Of those who ask at the address, and of contacts who invite into groups. A line for each: its number, when \
            they asked, how they call themselves, and what they wrote along or into which group. Who strangers \
            are nobody has checked. Answer with 'chatfs accept NUMBER' or 'chatfs reject NUMBER'. Where an answer could \
            not be carried out, the line ends with the reason.
            """,
        section: CommandSection.chats,
        options: [ProgramConnection.json] + CommonOptions.access,
        examples: [Example("chatfs requests", "Requests at the address.")]
    ) { invocation in
        for request in try await ProfileAccess(invocation).ask(.requests).requests ?? [] {
            if invocation.has("json") {
                Terminal.print(try ProgramConnection.json(Line(request)))
                continue
            }
            let group = request.group.map { " invites you into the group \($0)" } ?? ""
            let text = request.text.isEmpty ? "" : ": \(request.text)"
            let problem = request.problem.map { " (accepted, but: \($0))" } ?? ""
            Terminal.print(
                PrintableText.escaping(
                    "\(request.number)  \(request.time.text)  \(request.name)\(group)\(text)\(problem)"))
        }
    }

    /// The output of `--json`; time in seconds since 1970.
    private struct Line: Encodable {
        var number: Int64
        var name: String
        var time: Int64
        var text: String
        var group: String?
        var problem: String?

        init(_ request: WaitingRequest) {
            (number, name, text, group) = (request.number, request.name, request.text, request.group)
            (time, problem) = (request.time.seconds, request.problem)
        }
    }

    static let reject = Command(
        "reject", "Forget a request that waits for your answer.",
        discussion: "The other side is not notified, and may ask again.",
        section: CommandSection.chats,
        arguments: [Argument("NUMBER", .text, "Of the request, as 'chatfs requests' prints it.")],
        options: CommonOptions.access,
        examples: [Example("chatfs reject 3", "Not this one.")]
    ) { invocation in
        guard let number = Int64(invocation.argument("NUMBER")) else {
            throw UsageError("expected the number of a request, as 'chatfs requests' prints it")
        }
        _ = try await ProfileAccess(invocation).ask(.rejectRequest(number))
    }
}
