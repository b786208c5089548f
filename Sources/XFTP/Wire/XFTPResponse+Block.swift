extension XFTPResponse {
    /// The answer in a block, which must be of this session.
    init(block: [UInt8], sessionID: [UInt8]) throws(XFTPError) {
        guard let message = Block.unpad(block) else { throw .brokenProtocol("sent less than a block") }
        guard let transmission = try? Transmission(message: message) else {
            // Before and outside of a session a relay says a bare word.
            if let error = XFTPProtocolError(text: String(decoding: message, as: UTF8.self)) {
                self = .error(error)
                return
            }
            throw .brokenProtocol("sent a block that holds no answer")
        }
        guard let response = XFTPResponse(decoding: transmission.body) else {
            throw .brokenProtocol("sent an answer that is not known here")
        }
        if response != .error(.session), transmission.sessionID != sessionID {
            throw .brokenProtocol("answered in another session")
        }
        self = response
    }
}
