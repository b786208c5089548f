import ChatCore

/// The answer to most requests.
protocol ControlAnswer: Decodable {
    /// A sentence that tells why the request failed.
    var problem: String? { get }
}

/// The daemon's reply: one line of JSON.
struct ControlReply: Codable, Hashable {
    /// The item that the file became.
    var item: Int64?
    /// A sentence that tells why the request failed.
    var problem: String?
    /// True if the core may nevertheless have sent the message.
    var isUnsure: Bool?
    /// True if the core may have the message and the same request, repeated, finds out.
    var isUndecided: Bool?
}

extension ControlReply {
    /// Creates the reply for a failed send.
    init(_ error: ChatError) {
        self.init(
            problem: error.sentence, isUnsure: error.code == .sendingUnsure,
            isUndecided: error.code == .sendingUndecided)
    }

    /// - Throws: `.refused` if the message was not sent; `.unsure`; `.noAnswer` if the same request may be repeated.
    func check() throws(DesktopError) {
        guard let problem else { return }
        if isUndecided == true { throw DesktopError(.noAnswer, problem) }
        throw DesktopError(isUnsure == true ? .unsure : .refused, problem)
    }
}
