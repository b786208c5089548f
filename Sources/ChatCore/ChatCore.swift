/// The interface between ChatFS and a SimpleX core. Terms and behaviour are those of the SimpleX chat API.
///
/// A core conforms to all these protocols; its users name only those that they need:
///
/// | protocol | for |
/// |---|---|
/// | `ChatReading` | chats, messages and events |
/// | `MessageSending` | sending and deleting messages |
/// | `FileTransferring` | files of messages: receiving, claiming, cancelling |
/// | `StandaloneFileTransferring` | files without a chat |
/// | `TextKeeping` | texts and chat logs |
/// | `ChatManaging` | renaming, leaving and deleting chats |
/// | `ContactMaking` | connecting to contacts |
/// | `ConnectionListing` | all network connections, even without a chat |
/// | `AddressKeeping` | the contact address and its requests |
/// | `LinkKeeping` | the folder of links |
///
/// `OpenProfile` has their common contract.
public typealias ChatCore = ChatReading & MessageSending & FileTransferring & StandaloneFileTransferring
    & TextKeeping & ChatManaging & ContactMaking & ConnectionListing & AddressKeeping & LinkKeeping
