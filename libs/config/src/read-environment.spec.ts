import { readEnvironment } from './read-environment.js';

describe('readEnvironment', () => {
  it("shows the process's environment", () => {
    expect(readEnvironment()['PATH']).toBeTruthy();
    expect(readEnvironment()['NO_SETTING_IS_CALLED_THIS']).toBeUndefined();
  });
});
