/// The values agreed on by both sides.
struct OpenedSession {
    let phone: PhoneApp
    let hello: ControllerHello
    let signer: MessageSigner
}
