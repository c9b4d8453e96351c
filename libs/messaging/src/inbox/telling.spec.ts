import { Logger } from '@nestjs/common';
import { type Statement, Telling } from './telling.js';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('Telling', () => {
  let telling: Telling;
  let log: string[];
  let acknowledge: () => void;

  beforeAll(() => {
    Logger.overrideLogger(false);
  });

  beforeEach(() => {
    telling = new Telling();
    log = [];
  });

  const tell = (what: string): void => {
    const statement: Statement = {
      tell: () => {
        log.push(what);
        acknowledge = () => {
          telling.ended(statement);
        };
      },
      giveUp: () => void log.push(`${what} given up`),
    };
    telling.begin(statement);
  };

  it('is done at once where nothing speaks against it', () => {
    tell('one');
    expect(log).toEqual(['one']);
  });

  it('waits while it is closed, and keeps its order', () => {
    void telling.close();
    tell('one');
    tell('two');
    expect(log).toEqual([]);
    telling.open();
    expect(log).toEqual(['one', 'two']);
  });

  it('is over, once closed, when what had begun has come to its end', async () => {
    tell('one');
    const closed = telling.close().then(() => log.push('closed'));
    await nextTurn();
    expect(log).toEqual(['one']);
    expect(telling.isQuiet).toBe(false);
    acknowledge();
    await closed;
    expect(telling.isQuiet).toBe(true);
  });

  it('goes on without what cannot be told, which nothing waits for', async () => {
    void telling.close();
    telling.begin({
      tell: () => {
        throw new Error('a bug');
      },
      giveUp: () => undefined,
    });
    tell('one');
    telling.open();
    expect(log).toEqual(['one']);
    acknowledge();
    await telling.close();
    expect(telling.isQuiet).toBe(true);
  });

  it('closes, but is not over, while a message is told in part, whichever is the oldest', async () => {
    const [message, other] = [{}, {}];
    telling.toldInPart(other, 7);
    telling.toldInPart(message, 5);
    await telling.close();
    expect([telling.isQuiet, telling.inPartSinceMs]).toEqual([false, 5]);
    telling.settled(message);
    expect(telling.inPartSinceMs).toBe(7);
    telling.settled(other);
    expect([telling.isQuiet, telling.inPartSinceMs]).toEqual([true, undefined]);
  });

  it('is never over while it is open', () => {
    expect(telling.isQuiet).toBe(false);
  });

  it('asks for what it waits for once, however much waits', () => {
    telling.onAwaited = () => log.push('awaited');
    void telling.close();
    tell('one');
    tell('two');
    expect(log).toEqual(['awaited']);
    telling.open();
    void telling.close();
    tell('three');
    expect(log).toEqual(['awaited', 'one', 'two', 'awaited']);
  });

  describe('while another process may own the partition', () => {
    let mayTell: boolean;

    beforeEach(() => {
      mayTell = false;
      telling.allowWhile(() => mayTell);
    });

    it('waits, until it turns out to be this one’s still', () => {
      tell('one');
      telling.wake();
      expect(log).toEqual([]);
      mayTell = true;
      telling.wake();
      expect(log).toEqual(['one']);
    });

    it('does not begin for being opened, nor for being asked while it is closed', () => {
      void telling.close();
      tell('one');
      telling.open();
      expect(log).toEqual([]);
      void telling.close();
      mayTell = true;
      telling.wake();
      expect(log).toEqual([]);
    });

    it('holds up what is on its way to what it tells, for as long', async () => {
      const said = telling.stillAllowed().then(() => log.push('said'));
      await nextTurn();
      expect(log).toEqual([]);
      mayTell = true;
      telling.wake();
      await said;
      await telling.stillAllowed();
      expect(log).toEqual(['said']);
    });

    it('ends what is on its way when the partition is lost', async () => {
      const said = telling.stillAllowed();
      telling.end();
      await expect(said).rejects.toThrow('the partition is lost');
      await expect(telling.stillAllowed()).rejects.toThrow('the partition is lost');
    });

    it('is given up when the partition is lost, before or after that', () => {
      tell('one');
      telling.end();
      tell('two');
      expect(log).toEqual(['one given up', 'two given up']);
    });
  });

  it('is given up when the partition is lost before, and never begins again', () => {
    void telling.close();
    tell('one');
    telling.end();
    tell('two');
    telling.open();
    expect(log).toEqual(['one given up', 'two given up']);
  });

  it('goes on where nothing has held it up by the time the partition is lost: a stop waits for it', () => {
    telling.end();
    tell('one');
    expect(log).toEqual(['one']);
  });
});
