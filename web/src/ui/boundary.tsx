// A page that breaks says so and leaves the rest of the console usable.
import { Component, type ReactNode } from "react";
import { Icon } from "./icons";
import { Callout, Code } from "./parts";

export class Boundary extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <div className="page">
        <h1>This page could not be shown</h1>
        <Callout tone="bad" title="The console came upon something that it did not expect">
          <Code text={error.message} label="error" />
          <div><button type="button" className="btn" onClick={() => this.setState({ error: null })}><Icon name="restart" />Try again</button></div>
        </Callout>
      </div>
    );
  }
}
