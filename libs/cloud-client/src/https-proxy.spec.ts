import { isProxied } from './https-proxy.js';

describe('a host', () => {
  const at = (hostname: string, port = 443) => ({ hostname, port });

  it('is reached through the proxy unless it is excepted', () => {
    expect(isProxied(at('cloud.example.com'), [])).toBe(true);
    expect(isProxied(at('cloud.example.com'), ['other.example.com', '10.0.0.0/8'])).toBe(true);
  });

  it.each(['localhost', 'cloud.localhost', '127.0.0.1', '127.9.9.9', '::1', '[::1]'])(
    'is never reached through it on loopback: %s',
    (hostname) => {
      expect(isProxied(at(hostname), [])).toBe(false);
    },
  );

  it.each([
    ['cloud.example.com', 'cloud.example.com'],
    ['Cloud.Example.com.', 'cloud.example.COM'],
    ['cloud.example.com', 'example.com'],
    ['cloud.example.com', '.example.com'],
    ['cloud.example.com', '*.example.com'],
    ['cloud.example.com', '*'],
    ['cloud.example.com', 'cloud.example.com:443'],
    ['10.1.2.3', '10.1.2.3'],
    ['10.1.2.3', '10.0.0.0/8'],
    ['10.1.2.3', '10.0.0.0/8:443'],
    ['[fd00::1]', 'fd00::1'],
    ['fd00::1', '[fd00::1]:443'],
    ['fd00::1', 'fd00::/8'],
  ])('is excepted: %s by %s', (hostname, entry) => {
    expect(isProxied(at(hostname), ['elsewhere', entry])).toBe(false);
  });

  it.each([
    ['notexample.com', 'example.com'],
    ['example.com', 'cloud.example.com'],
    ['cloud.example.com', 'cloud.example.com:8443'],
    ['cloud.example.com', '10.0.0.0/8'],
    ['cloud.example.com', '.'],
    ['11.1.2.3', '10.0.0.0/8'],
    ['10.1.2.3', '10.0.0.0/99'],
    ['10.1.2.3', '3'],
    ['10.1.2.3', '1.2.3'],
    ['fd00::1', '10.0.0.0/8'],
    ['fd00::1', 'fe00::/8'],
    ['fd00::1', '[fd00::1]:8443'],
  ])('is not excepted: %s by %s', (hostname, entry) => {
    expect(isProxied(at(hostname), [entry])).toBe(true);
  });
});
