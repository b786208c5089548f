import ChatCore

/// The daemon's answer: one line of JSON.
struct ControlReply: Codable, Hashable {
    /// The item that the file became.
    var item: Int64?
    /// Why not.
    var problem: String?
    /// With a problem: the core may have it all the same.
    var isUnsure: Bool?
    /// With a problem: the core may have it, and the same request again finds out.
    var isUndecided: Bool?
}

extension ControlReply {
    /// Why a message was not sent, as far as is known.
    init(_ error: ChatError) {
        self.init(
            problem: error.sentence, isUnsure: error.code == .sendingUnsure,
            isUndecided: error.code == .sendingUndecided)
    }

    /// - Throws: `.refused` when it was not sent, `.unsure`, or `.noAnswer`: the same request again is safe.
    func check() throws(DesktopError) {
        guard let problem else { return }
        if isUndecided == true { throw DesktopError(.noAnswer, problem) }
        throw DesktopError(isUnsure == true ? .unsure : .refused, problem)
    }
}
