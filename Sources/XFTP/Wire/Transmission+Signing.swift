import Cryptography

extension Transmission {
    /// Returns a signed copy.
    public func signed(by key: SigningKey) -> Transmission {
        var copy = self
        copy.signature = key.sign(signedBytes)
        return copy
    }

    /// Returns whether the transmission has a valid signature of `key`.
    public func isSigned(by key: VerifyingKey) -> Bool {
        !signature.isEmpty && key.isValid(signature, for: signedBytes)
    }
}
