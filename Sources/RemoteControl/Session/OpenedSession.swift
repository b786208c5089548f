/// What both sides agreed on.
struct OpenedSession {
    let phone: PhoneApp
    let hello: ControllerHello
    let signer: MessageSigner
}
