import { type InboundMessage } from '#libs/messaging';

/** Takes messages one by one: what fails with one, which is a bug of ours, does not keep the others from being taken. */
export function acceptEach(
  messages: readonly InboundMessage[],
  accept: (message: InboundMessage) => void,
): void {
  for (const message of messages) {
    try {
      accept(message);
    } catch (error) {
      message.fail(error);
    }
  }
}
